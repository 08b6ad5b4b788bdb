import torch
from tqdm import tqdm


def on_device(batch, device):
    return {key: value.to(device) if torch.is_tensor(value) else value for key, value in batch.items()}


class DepthTrainer:
    """Fits self-supervised depth models."""

    def __init__(self, device, max_epochs=50):
        self.device = device
        self.max_epochs = max_epochs
        self.last_metrics = {}

    def fit(self, module):
        module.model.to(self.device)
        optimizer, scheduler = module.configure_optimizers()
        loader = module.train_dataloader()
        for epoch in range(self.max_epochs):
            self.last_metrics = self.train(module, loader, optimizer, epoch)
            scheduler.step()

    def train(self, module, loader, optimizer, epoch):
        module.model.train()
        outputs = []
        bar = tqdm(loader, desc=f"epoch {epoch}")
        for index, batch in enumerate(bar):
            optimizer.zero_grad()
            output = module.training_step(on_device(batch, self.device), index)
            output["loss"].backward()
            optimizer.step()
            output["loss"] = output["loss"].detach()
            outputs.append(output)
        return module.training_epoch_end(outputs)


class MonocularModule:
    def __init__(self, model, loader):
        self.model = model
        self.loader = loader

    def train_dataloader(self):
        return self.loader

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.model.parameters(), lr=2e-4)
        return optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 30, 0.5)

    def training_step(self, batch, index):
        rebuilt = self.model(batch["rgb"], batch["context"])
        photometric = (rebuilt - batch["rgb"]).abs().mean()
        return {"loss": photometric}

    def training_epoch_end(self, outputs):
        return {"loss": torch.stack([output["loss"] for output in outputs]).mean().item()}
