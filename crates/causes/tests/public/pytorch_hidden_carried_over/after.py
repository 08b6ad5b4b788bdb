import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Forecaster(nn.Module):
    def __init__(self, inputs=8, width=64):
        super().__init__()
        self.rnn = nn.LSTM(inputs, width, batch_first=True)
        self.head = nn.Linear(width, 1)

    def forward(self, x, hidden):
        out, hidden = self.rnn(x, hidden)
        return self.head(out[:, -1]), hidden


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    series = torch.randn(100_000, 20, 8)
    target = torch.randn(100_000, 1)
    loader = DataLoader(TensorDataset(series, target), batch_size=32, shuffle=False, drop_last=True)
    model = Forecaster().to(device)
    criterion = nn.MSELoss()

    hidden = None
    with torch.no_grad():
        warm = model(series[:32].to(device), hidden)
        print("first forecast", warm[0].mean().item())
    hidden = (torch.zeros(1, 32, 64, device=device), torch.zeros(1, 32, 64, device=device))
    for step, (x, y) in enumerate(loader):
        x, y = x.to(device), y.to(device)
        hidden = tuple(part.detach() for part in hidden)
        forecast, hidden = model(x, hidden)
        error = criterion(forecast, y)
        if step % 100 == 0:
            print(step, error.item())


if __name__ == "__main__":
    main()
