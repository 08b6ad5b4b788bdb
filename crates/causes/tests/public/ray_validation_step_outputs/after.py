import torch
from torch.nn import functional as F
from torchmetrics.functional import accuracy

import lightning.pytorch as pl


class DigitClassifier(pl.LightningModule):
    def __init__(self, lr, width=128):
        super().__init__()
        self.lr = lr
        self.body = torch.nn.Sequential(
            torch.nn.Flatten(),
            torch.nn.Linear(28 * 28, width),
            torch.nn.ReLU(),
            torch.nn.Linear(width, 10),
        )
        self.validation_step_outputs = []

    def forward(self, x):
        return F.log_softmax(self.body(x), dim=1)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.nll_loss(self(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        logits = self(x)
        outputs = {
            "val_loss": F.nll_loss(logits, y),
            "val_accuracy": accuracy(logits.argmax(dim=1), y, task="multiclass", num_classes=10),
        }
        self.validation_step_outputs.append(outputs)
        return outputs

    def on_validation_epoch_end(self):
        losses = torch.stack([out["val_loss"] for out in self.validation_step_outputs])
        accuracies = torch.stack([out["val_accuracy"] for out in self.validation_step_outputs])
        self.log("ptl/val_loss", losses.mean())
        self.log("ptl/val_accuracy", accuracies.mean())
        self.validation_step_outputs.clear()


def main(data):
    pl.Trainer(max_epochs=20, accelerator="gpu").fit(DigitClassifier(lr=1e-3), datamodule=data)
