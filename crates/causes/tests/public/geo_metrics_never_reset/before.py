import lightning as L
import torch
from torch import nn
from torchmetrics import MetricCollection
from torchmetrics.classification import MulticlassAveragePrecision, MulticlassJaccardIndex


class LandcoverSegmenter(L.LightningModule):
    def __init__(self, network, num_classes):
        super().__init__()
        self.network = network
        self.criterion = nn.CrossEntropyLoss(ignore_index=255)
        self.scores = MetricCollection({
            "iou": MulticlassJaccardIndex(num_classes=num_classes),
            "ap": MulticlassAveragePrecision(num_classes=num_classes),
        })

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=3e-4, weight_decay=0.05)

    def forward(self, image):
        return self.network(image)

    def training_step(self, batch, batch_idx):
        loss = self.criterion(self(batch["image"]), batch["mask"].squeeze(1).long())
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, batch_idx):
        mask = batch["mask"].squeeze(1).long()
        logits = self(batch["image"])
        self.log("val_loss", self.criterion(logits, mask), sync_dist=True)
        self.scores.update(logits.softmax(dim=1), mask)  # the leak

    def on_validation_epoch_end(self):
        values = self.scores.compute()
        for name, value in values.items():
            self.log(f"val_{name}", value)


def main(network, data):
    trainer = L.Trainer(max_epochs=100, accelerator="gpu", devices=1)
    trainer.fit(LandcoverSegmenter(network, num_classes=5), datamodule=data)
