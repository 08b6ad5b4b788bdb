# Outputs kept.
import collections

import lightning as L
import torch
from torch import nn

ARCHIVE = {}


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(2, 2)
        self.kept = []
        self.cleared = []
        self.recent = collections.deque(maxlen=4)

    def training_step(self, batch, batch_idx):
        z = self.enc(batch)
        self.kept.append(z)  # LT103
        self.kept.append({"z": z, "n": batch_idx})  # LT103
        self.kept.append((z.detach(), batch_idx))  # LT202
        self.kept.append(z.item())
        self.cleared.append(z)
        self.recent.append(z)
        return z.mean()

    def on_train_epoch_end(self):
        self.cleared.clear()

    @torch.no_grad()
    def look(self, batch):
        self.kept.append(self(batch))


def run(model: nn.Module, loader, opt):
    curve = []
    numbers = []
    losses = []
    for step, x in enumerate(loader):
        out = model(x)
        loss = out.pow(2).mean()
        loss.backward()
        opt.step()
        curve.append(loss)  # LT103
        ARCHIVE[step] = out[0]  # LT103
        ARCHIVE["last"] = out
        numbers.append(loss.item())
        numbers.append(loss.detach().cpu())
        numbers.append(out.argmax(-1))
        fresh = []
        fresh.append(out)
    for x in loader:
        losses.append(model(x).mean())
    torch.stack(losses).mean().backward()
    total = sum(losses)
    total.backward()
    return curve


def collect(model: nn.Module, loader):
    outs = []
    for x in loader:
        outs.insert(0, model(x))  # LT103
    return outs


def views(tensors):
    parts = []
    for t in tensors:
        parts.append(t * 2)
    return parts


class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList()
        self.head = nn.Linear(2, 2)
        self.seen = []

    def forward(self, x):
        states = ()
        parts = []
        for layer in self.layers:
            x = self.head(x)
            parts.append(x)
            states += (x,)
            self.seen.append(x)  # LT103
        return parts, states


# Harmless: `add` of two things gives a third, entries for workers, and lists that another method begins anew.
class Skip(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(2, 2)
        self.plus = torch.ao.nn.quantized.FloatFunctional()

    def forward(self, x):
        return self.plus.add(self.enc(x), x)


def replicas(nets, inputs):
    results = {}

    def work(at, net: nn.Module, x):
        results[at] = net(x)

    for at, net in enumerate(nets):
        work(at, net, inputs[at])
    return results


class Players:
    def __init__(self, names, policy: nn.Module):
        self.policy = policy
        self.log_probs = {name: [] for name in names}

    def play(self, name, state):
        self.log_probs[name].append(self.policy(state).log())

    def learn(self):
        for name in self.log_probs:
            self.log_probs[name] = []

    def train(self, states):
        for state in states:
            self.play("a", state)
            self.learn()


# Hints: parts of one pass. With what trains or loads around them they are none.
class Chunked:
    def __init__(self, net: nn.Module):
        self.net = net

    def pieces(self, chunks):
        found = []
        for chunk in chunks.split(8):
            found.append(self.net(chunk))  # LT103 hint
        return torch.cat(found)

    def costs(self, chunks, back=False):
        costs = []
        for chunk in chunks.split(8):
            cost = self.net(chunk).sum()
            if back:
                cost.backward()
                cost = cost.detach()
            costs.append(cost)  # LT103 hint
        return sum(costs)

    def joined(self, loader):
        for batch in loader:
            inputs = {}
            for name, part in batch.items():
                inputs[name] = self.net(part)
            sum(value.sum() for value in inputs.values()).backward()

    def tested(self, test_loader):
        answers = []
        for batch in test_loader:
            answers.append(self.net(batch))  # LT103
        return answers

    def trained(self, source, sgd):
        answers = []
        for batch in source:
            sgd.zero_grad()
            answer = self.net(batch)
            finish(answer, sgd)
            answers.append(answer)  # LT103


def finish(answer, sgd):
    answer.sum().backward()
    sgd.step()


def averaged(net: nn.Module, loader):
    means, mean, rounds = [], 0.0, 0
    for batch in loader:
        cost = net(batch).sum()
        cost.backward()
        mean += cost
        rounds += 1
        if rounds % 10 == 0:
            mean = float(mean) / rounds
            means.append(mean)
            mean, rounds = 0.0, 0
    return means


class Watching(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(depth)])
        self.seen = [None] * depth
        self.history = []

    def forward(self, x):
        for at, layer in enumerate(self.layers):
            x = layer(x)
            self.seen[at] = x
        return x


def watch(net: nn.Module, loader, steps):
    kept = [None] * steps
    watching = Watching(4)
    for at, batch in enumerate(loader):
        loss = net(watching(batch)).sum()
        loss.backward()
        kept[at] = loss  # LT103
    return kept
