import torch
from pytorch_lightning import LightningModule
from torchmetrics import Accuracy, MaxMetric, MeanMetric


class DigitModule(LightningModule):
    def __init__(self, net, optimizer):
        super().__init__()
        self.save_hyperparameters(logger=False, ignore=["net"])
        self.net = net
        self.criterion = torch.nn.CrossEntropyLoss()
        self.train_acc, self.val_acc = Accuracy(), Accuracy()
        self.train_loss, self.val_acc_best = MeanMetric(), MaxMetric()

    def forward(self, x):
        return self.net(x)

    def step(self, batch):
        x, y = batch
        logits = self.forward(x)
        return self.criterion(logits, y), torch.argmax(logits, dim=1), y

    def training_step(self, batch, batch_idx):
        loss, preds, targets = self.step(batch)
        self.train_loss(loss)
        self.train_acc(preds, targets)
        self.log("train/loss", self.train_loss, on_epoch=True, prog_bar=True)
        self.log("train/acc", self.train_acc, on_epoch=True, prog_bar=True)
        return {"loss": loss, "preds": preds, "targets": targets}  # the leak

    def training_epoch_end(self, outputs):  # the leak
        pass

    def validation_step(self, batch, batch_idx):
        _, preds, targets = self.step(batch)
        self.val_acc(preds, targets)
        self.log("val/acc", self.val_acc, on_epoch=True)

    def on_validation_epoch_end(self):
        self.val_acc_best(self.val_acc.compute())
        self.log("val/acc_best", self.val_acc_best.compute())

    def configure_optimizers(self):
        return self.hparams.optimizer(params=self.parameters())
