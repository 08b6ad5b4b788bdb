"""LT103: what a name was given last, in the statements of a file and behind a `with`."""
import torch
from torch import nn

net, critic = nn.Linear(8, 8), nn.Linear(8, 1)
opt = torch.optim.Adam([*net.parameters(), *critic.parameters()])
fixed = torch.randn(8, 8)
grids, samples, outs, kept, pairs, given = [], [], [], [], [], []
shared = fixed


def swap(x):
    global shared
    shared = net(x)


for step in range(1_000_000):
    fake = net(torch.randn(8, 8))
    loss = critic(fake).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    samples.append(fake.mean(0))  # LT103
    if step % 100 == 0:
        with torch.no_grad():
            fake = net(fixed).detach().cpu()
        grids.append(torch.relu(fake))  # LT202
    if step % 3 == 0:
        with torch.no_grad():
            fake = net(fixed)
    outs.append(torch.relu(fake))  # LT103
    with torch.autocast("cpu"):
        fake = net(fixed)
    kept.append(torch.relu(fake))  # LT103
    shared = fixed
    swap(fixed)
    given.append(shared * 2)  # LT103
    fake = fake.detach()
    pairs.append((step, fake * 2))  # LT202


def training(steps):
    means = []
    for step in range(steps):
        fake = net(torch.randn(8, 8))
        critic(fake).mean().backward()
        if step % 100 == 0:
            with torch.no_grad():
                fake = net(fixed)
            means.append(fake.mean(0))
    return means
