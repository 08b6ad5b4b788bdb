# Metrics.
import lightning as L
import torchmetrics
from torch import nn
from torchmetrics import AUROC, Accuracy, MeanMetric, MetricCollection
from torchmetrics.classification import BinaryAveragePrecision, MulticlassROC
from torchmetrics.detection import MeanAveragePrecision


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.core = nn.Linear(3, 3)
        self.area = AUROC(task="binary")
        self.curve = MulticlassROC(num_classes=3)
        self.boxes = MeanAveragePrecision()
        self.share = Accuracy(task="binary")
        self.binned = BinaryAveragePrecision(thresholds=100)
        self.logged = AUROC(task="binary")
        self.cleared = MeanAveragePrecision()
        self.several = MetricCollection([Accuracy(task="binary"), AUROC(task="binary")])
        self.counted = MetricCollection([Accuracy(task="binary")])

    def validation_step(self, batch, batch_idx):
        x, y = batch
        out = self.core(x)
        self.area.update(out, y)  # LT205
        self.curve(out, y)  # LT205
        self.boxes.update(out, y)  # LT205
        self.share.update(out, y)
        self.binned.update(out, y)
        self.logged.update(out, y)
        self.log("auroc", self.logged)
        self.cleared.update(out, y)
        self.several.update(out, y)  # LT205
        self.counted.update(out, y)

    def on_validation_epoch_end(self):
        print(self.area.compute(), self.curve.compute(), self.boxes.compute())
        self.cleared.reset()


RANKS = torchmetrics.SpearmanCorrCoef()


def score(net, loader):
    for x, y in loader:
        RANKS.update(net(x), y)  # LT205
    return RANKS.compute()


def fit(net: nn.Module, loader, opt, epochs):
    precision = BinaryAveragePrecision()
    average = MeanMetric()
    for epoch in range(epochs):
        fresh = AUROC(task="binary")
        for x, y in loader:
            out = net(x)
            loss = out.mean()
            loss.backward()
            opt.step()
            precision.update(out, y)  # LT205
            average.update(loss)
            fresh.update(out, y)
        print(precision.compute(), average.compute(), fresh.compute())


def once(net, loader):
    area = AUROC(task="binary")
    for x, y in loader:
        area.update(net(x), y)
    return area.compute()


def score(net: nn.Module, loader, area):
    for x, y in loader:
        area.update(net(x), y)  # LT205
    return area.compute().item()


def score_and_begin_anew(net: nn.Module, loader, area):
    for x, y in loader:
        area.update(net(x), y)
    area.reset()
    return area.compute().item()


def all_epochs(net: nn.Module, loader, device):
    kept = AUROC(task="binary").to(device)
    anew = AUROC(task="binary").to(device)
    for _ in range(50):
        score(net, loader, kept)
        score_and_begin_anew(net, loader, anew)


class Judge:
    def __init__(self, net, loader):
        self.net, self.loader = net, loader
        self.boxes = MeanAveragePrecision()

    def judge(self):
        for x, y in self.loader:
            self.boxes(self.net(x), y)  # LT205
        return self.boxes.compute()

    def run(self, epochs):
        for epoch in range(epochs):
            print(epoch, self.judge())
