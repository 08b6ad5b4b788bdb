import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn


def averaged(parameters, group, size):
    for parameter in parameters:
        dist.all_reduce(parameter.data, group=group)
        parameter.data /= size


def worker(rank, world_size, steps, average_every):
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    torch.manual_seed(rank)
    net = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    neighbours = [rank - rank % 2, rank - rank % 2 + 1]
    for step in range(steps):
        x = torch.randn(64, 32)
        loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % average_every == 0:
            for first in range(0, world_size, 2):
                group = dist.new_group([first, first + 1])  # the leak
                if first == neighbours[0]:
                    averaged(net.parameters(), group, len(neighbours))
                del group
        if rank == 0 and step % 1000 == 0:
            print(step, loss.item())
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = "29500"
    mp.spawn(worker, args=(4, 100_000, 10), nprocs=4)
