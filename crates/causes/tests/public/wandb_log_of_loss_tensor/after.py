import torch
import wandb
from torch import nn
from torchvision import datasets, transforms


class Autoencoder(nn.Module):
    def __init__(self, code=32):
        super().__init__()
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, code))
        self.decoder = nn.Sequential(nn.Linear(code, 256), nn.ReLU(), nn.Linear(256, 784), nn.Sigmoid())

    def forward(self, x):
        return self.decoder(self.encoder(x)).view_as(x)


def main():
    run = wandb.init(project="digits", config={"lr": 1e-3, "epochs": 30})
    device = torch.device("cuda")
    digits = datasets.MNIST("data", download=True, transform=transforms.ToTensor())
    loader = torch.utils.data.DataLoader(digits, batch_size=128, shuffle=True, num_workers=2)
    net = Autoencoder().to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=run.config["lr"])
    for epoch in range(run.config["epochs"]):
        for images, _ in loader:
            images = images.to(device)
            loss = nn.functional.binary_cross_entropy(net(images), images)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            wandb.log({"loss": loss.item(), "epoch": epoch})
    torch.save(net.state_dict(), "autoencoder.pt")


if __name__ == "__main__":
    main()
