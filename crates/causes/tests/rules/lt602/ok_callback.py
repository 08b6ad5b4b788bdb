import gc

import lightning as L


class Collect(L.Callback):
    def on_train_start(self, trainer, module):
        gc.disable()

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        if batch_idx % 100 == 0:
            gc.collect(1)
