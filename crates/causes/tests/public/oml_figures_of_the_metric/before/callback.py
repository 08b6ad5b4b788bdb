from pytorch_lightning import Callback
from pytorch_lightning.loggers import NeptuneLogger


class MetricCallback(Callback):
    def __init__(self, metric, log_images=False):
        self.metric = metric
        self.log_images = log_images

    def on_validation_epoch_start(self, trainer, pl_module):
        self.metric.setup()

    def on_validation_batch_end(self, trainer, pl_module, outputs, batch, batch_idx, dataloader_idx=0):
        self.metric.update(outputs["embeddings"], batch["path"])

    def on_validation_epoch_end(self, trainer, pl_module):
        for name, value in self.metric.compute().items():
            pl_module.log(name, value)
        if self.log_images:
            figure = self.metric.visualize()
            if isinstance(pl_module.logger, NeptuneLogger):
                pl_module.logger.experiment["worst"].append(figure)
