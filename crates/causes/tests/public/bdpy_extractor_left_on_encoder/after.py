import torch
from torch import optim


class FeatureExtractor:
    def __init__(self, encoder, layers, detach=False):
        self.detach = detach
        self.features = {}
        self._handles = []
        modules = dict(encoder.named_modules())
        for layer in layers:
            self._handles.append(modules[layer].register_forward_hook(self._keep(layer)))
        self.encoder = encoder

    def _keep(self, layer):
        def hook(module, inputs, output):
            self.features[layer] = output.detach() if self.detach else output

        return hook

    def run(self, image):
        self.features = {}
        self.encoder(image)
        return self.features

    def close(self):
        for handle in self._handles:
            handle.remove()
        self._handles = []


def reconstruct(encoder, layers, target, shape, n_iter=200, lr=0.1):
    image = torch.rand(shape, device="cuda", requires_grad=True)
    optimizer = optim.Adam([image], lr=lr)
    extractor = FeatureExtractor(encoder, layers)
    for _ in range(n_iter):
        features = extractor.run(image)
        loss = sum((features[layer] - target[layer]).pow(2).mean() for layer in layers)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    extractor.close()
    return image.detach().cpu()


def main(encoder, layers, targets):
    encoder.cuda().eval().requires_grad_(False)
    for number, target in enumerate(targets):
        image = reconstruct(encoder, layers, target, (1, 3, 224, 224))
        torch.save(image, f"image_{number:04}.pt")
