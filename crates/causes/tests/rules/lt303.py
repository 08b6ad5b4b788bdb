# Bars.
from torch import nn
from tqdm import tqdm, trange
from tqdm.auto import tqdm as progress


def fit(net: nn.Module, loader, optimizer, epochs):
    with trange(epochs) as outer:
        for _ in outer:
            bar = tqdm(loader)
            for x in bar:
                loss = net(x).square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                bar.set_postfix(loss=loss)  # LT303 hint
                bar.set_postfix({"loss": loss.detach()})  # LT303 hint
                bar.set_postfix(loss=loss.item())
                bar.set_postfix({"loss": float(loss)})
                bar.set_postfix(step=len(x), rate="1e-3")
                bar.set_postfix_str(f"{loss}")
            outer.set_postfix(last=loss)  # LT303 hint


class Learner:
    def __init__(self, net: nn.Module, loader):
        self.net = net
        self.bar = progress(loader)

    def run(self):
        for x in self.bar:
            out = self.net(x)
            values = {"mean": out.mean(), "top": out.max()}
            self.bar.set_postfix(values)  # LT303 hint
            self.bar.set_postfix(**{"mean": out.mean().item()})
            self.bar.set_postfix({"first": out[0]}, refresh=False)  # LT303 hint


class Plain:
    def __init__(self):
        self.text = ""

    def set_postfix(self, **values):
        self.text = str(values)


def own(net: nn.Module, loader):
    bar = Plain()
    for x in loader:
        bar.set_postfix(out=net(x))
