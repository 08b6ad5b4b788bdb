# Lists of all episodes, filled by a loop or scored by a model that only `no_grad` tells.
import torch


class Judge:
    def __init__(self, maker, count):
        self.maker, self.count = maker, count

    def validate(self, net):
        episodes = [self.maker.sample() for _ in range(self.count)]  # LT208
        right = 0.0
        for shots, asked in episodes:
            with torch.no_grad():
                right += net(shots, asked).item()
        return right / self.count

    def validate_one_by_one(self, net):
        right = 0.0
        for _ in range(self.count):
            shots, asked = self.maker.sample()
            with torch.no_grad():
                right += net(shots, asked).item()
        return right / self.count


def validate(net, data, count, device):
    net.eval()
    episodes = []  # LT208
    for _ in range(count):
        episodes.append({key: one.to(device) for key, one in data.sample().items()})
    right = 0.0
    for episode in episodes:
        with torch.no_grad():
            right += net(episode["shots"], episode["asked"]).item()
    return right / count


def validate_twice(net, data, count):
    net.eval()
    episodes = []
    for _ in range(count):
        episodes.append(data.sample())
    with torch.no_grad():
        first = sum(net(episode).item() for episode in episodes)
        for episode in episodes:
            first -= net(episode).item()
    return first
