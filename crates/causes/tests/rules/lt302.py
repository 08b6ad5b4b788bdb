# Objects that keep what they are given.
import logging

import optuna
import wandb
from rich.console import Console
from torch import nn
from transformers import Trainer


class Journal:
    def __init__(self):
        self.rows = []
        self.by_key = {}
        self.texts = []
        self.numbers = []
        self.queue = []

    def write(self, values):
        self.rows.append(values)  # LT302
        self.texts.append(str(values))

    def write_all(self, step, **values):
        for key, value in values.items():
            self.by_key.setdefault(key, []).append((step, value))  # LT302

    def mark(self, value, step):
        self.rows.append({"step": step, "value": value})  # LT302

    def number(self, value):
        value = value.item()
        self.numbers.append(value)

    def send(self, value):
        self.queue.append(value)

    def flush(self):
        self.queue.clear()


class Layers:
    def __init__(self, count):
        self.keys = [None] * count

    def put(self, keys, at):
        self.keys[at] = keys


def generate(net: nn.Module, xs, count):
    layers = Layers(count)
    for at, x in enumerate(xs):
        layers.put(net(x), at % count)


class Quiet:
    def __init__(self):
        self.rows = []

    def write(self, value):
        self.rows.append(value)


def fit(net: nn.Module, xs, opt):
    journal = Journal()
    quiet = Quiet()
    for step, x in enumerate(xs):
        loss = net(x).mean()
        loss.backward()
        opt.step()
        journal.write({"loss": loss})
        journal.write_all(step, loss=loss)
        journal.mark(loss * 2, step)
        journal.number(loss)
        journal.send(loss)
        quiet.write(loss.item())
        quiet.write(float(loss))


class Bars:
    shown = []

    def show(self, *values):
        self.shown.append(values)  # LT302


def with_bar(net: nn.Module, xs):
    bars = Bars()
    for x in xs:
        out = net(x)
        bars.show(x, out)


class Mixed(Trainer):
    def compute_loss(self, model: nn.Module, inputs, return_outputs=False):
        extra = model(**inputs)["extra"]
        self.log({"extra": extra})  # LT302
        self.log({"extra": extra.item()})
        return extra


def objective(trial, net: nn.Module, loader, optimizer):
    for x in loader:
        loss = net(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    trial.set_user_attr("net", net)  # LT302
    trial.set_user_attr("last", loss.detach())  # LT302
    trial.set_user_attr("loss", loss.item())
    trial.set_user_attr("name", "net")
    return loss.item()


optuna.create_study().optimize(objective, n_trials=100)


class Remembers(logging.Handler):
    def __init__(self):
        super().__init__()
        self.records = []
        self.texts = []

    def emit(self, record):
        self.records.append(record)  # LT302
        self.texts.append(self.format(record))


CONSOLE = Console(record=True)
QUIET = Console()


def with_rows(net: nn.Module, loader, optimizer):
    table = wandb.Table(columns=["image", "loss"])
    for epoch in range(60):
        own = wandb.Table(columns=["image", "loss"])
        for x in loader:
            loss = net(x).mean()
            loss.backward()
            optimizer.step()
            table.add_data(wandb.Image(x[0]), loss.item())  # LT302
            own.add_data(wandb.Image(x[0]), loss.item())
            CONSOLE.print(epoch, loss.item())  # LT302
            QUIET.print(epoch, loss.item())
        wandb.log({"own": own})
