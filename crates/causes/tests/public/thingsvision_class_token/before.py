import numpy as np
import torch


class FeatureExtractor:
    """Activations of one module of a vision model, for all images of a set."""

    def __init__(self, model, module_name, device="cuda", token="cls"):
        self.model = model.to(device).eval()
        self.device = device
        self.token = token
        self.activations = {}
        module = dict(model.named_modules())[module_name]
        self.handle = module.register_forward_hook(self._store)

    def _store(self, module, inputs, output):
        self.activations["last"] = output

    def _features(self, batch):
        self.model(batch.to(self.device))
        act = self.activations.pop("last").cpu()
        if self.token == "cls":
            act = act[:, 0, :]
        return act

    @torch.no_grad()
    def extract_features(self, batches):
        features = []
        for batch in batches:
            features.append(self._features(batch))  # the leak
        return torch.cat(features).numpy()

    def close(self):
        self.handle.remove()


def save_features(model, module_name, batches, out_path):
    extractor = FeatureExtractor(model, module_name)
    try:
        features = extractor.extract_features(batches)
    finally:
        extractor.close()
    np.save(out_path, features)
    return features.shape
