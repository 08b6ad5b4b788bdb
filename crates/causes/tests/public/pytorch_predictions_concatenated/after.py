import argparse

import torch
import torchvision
from torch.utils.data import DataLoader


def predict(model, loader, device):
    model.eval()
    y_pred, y_true = torch.Tensor(), torch.LongTensor()
    for x, y in loader:
        with torch.no_grad():
            out = model(x.to(device))
        y_pred = torch.cat((y_pred, out.cpu()))
        y_true = torch.cat((y_true, y))
    return y_pred, y_true


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--weights")
    args = parser.parse_args()
    device = torch.device("cuda")
    model = torchvision.models.resnet50(num_classes=10)
    model.load_state_dict(torch.load(args.weights))
    model.to(device)
    data = torchvision.datasets.ImageFolder(args.folder, torchvision.transforms.ToTensor())
    y_pred, y_true = predict(model, DataLoader(data, batch_size=64), device)
    print("accuracy", (y_pred.argmax(1) == y_true).float().mean().item())


if __name__ == "__main__":
    main()
