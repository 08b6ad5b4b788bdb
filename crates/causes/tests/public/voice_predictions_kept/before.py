import argparse
import json

import torch
from torch.utils.data import DataLoader


class VoiceNet(torch.nn.Module):
    def __init__(self, bins=40, classes=5):
        super().__init__()
        self.conv = torch.nn.Conv1d(bins, 128, kernel_size=5, padding=2)
        self.rnn = torch.nn.GRU(128, 128, batch_first=True, bidirectional=True)
        self.out = torch.nn.Linear(256, classes)

    def forward(self, x):
        x = torch.relu(self.conv(x)).transpose(1, 2)
        x, _ = self.rnn(x)
        return torch.sigmoid(self.out(x))


def predict(model, dataset, device):
    model.eval()
    predictions = []
    for batch in DataLoader(dataset, batch_size=32):
        p = model(batch.to(device))
        predictions.append(p)  # the leak
    return predictions


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("weights")
    parser.add_argument("features")
    parser.add_argument("output")
    args = parser.parse_args()
    device = torch.device("cuda:0")
    model = VoiceNet().to(device)
    model.load_state_dict(torch.load(args.weights, map_location=device))
    spoken = torch.load(args.features)
    shares = []
    for batch in predict(model, spoken, device):
        for utterance in batch:
            shares.append(float(sum(frame[0] for frame in utterance)) / len(utterance))
    with open(args.output, "w") as f:
        json.dump(shares, f)


if __name__ == "__main__":
    main()
