#? outs: instance:train.py:Net .validation_outputs = list
#? preds: instance:train.py:Net .predictions = dict
#? epoch: instance:train.py:Recorder .log = list
import lightning as L
import torch
from lightning.pytorch.callbacks import Callback


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.validation_outputs = []
        self.predictions = {}

    def training_step(self, batch, batch_idx):
        loss = self(batch).mean()
        return loss

    def validation_step(self, batch, batch_idx):
        out = self(batch)
        self.validation_outputs.append(out)  # <- outs
        self.predictions[batch_idx, self.current_epoch] = out  # <- preds


class Recorder(Callback):
    def __init__(self):
        self.log = []

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        self.log.append(outputs)  # <- epoch
