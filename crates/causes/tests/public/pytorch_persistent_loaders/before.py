import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Windows(Dataset):
    def __init__(self, series, length):
        self.series = series
        self.length = length

    def __len__(self):
        return len(self.series) - self.length

    def __getitem__(self, index):
        window = self.series[index : index + self.length]
        return torch.from_numpy(window[:-1]), torch.from_numpy(window[-1:])


class Forecast:
    def __init__(self, net, dataset):
        self.net = net
        self.dataset = dataset
        self.optimizer = torch.optim.Adam(net.parameters())

    def make_loader(self):
        return DataLoader(  # the leak
            self.dataset,
            batch_size=100,
            shuffle=True,
            drop_last=True,
            prefetch_factor=20,
            pin_memory=True,
            num_workers=20,
            persistent_workers=True,
        )

    def train(self, epochs):
        for epoch in range(epochs):
            loader = self.make_loader()  # the leak
            for past, following in loader:
                past, following = past.cuda(non_blocking=True), following.cuda(non_blocking=True)
                loss = (self.net(past) - following).pow(2).mean()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            print(epoch, loss.item())


if __name__ == "__main__":
    values = np.cumsum(np.random.randn(100_000).astype(np.float32))
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 1)).cuda()
    Forecast(model, Windows(values, 65)).train(epochs=100)
