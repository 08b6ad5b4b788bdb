import functools

import torch


class Hook:
    """Changes what flows back through a module by what came in before."""

    def __init__(self):
        self.stored = None
        self.active = True

    def register(self, module):
        self.handles = [module.register_forward_pre_hook(self.pre_forward), module.register_forward_hook(self.post_forward)]
        return self

    def pre_forward(self, module, inputs):
        self.input = inputs

    def post_forward(self, module, inputs, output):
        @functools.wraps(self.backward)
        def wrapper(grad_output):
            return self.backward(module, grad_output)

        output.grad_fn.register_hook(lambda grad_input, grad_output: wrapper(grad_output[0]))  # the leak
        return output

    def backward(self, module, grad_output):
        (x,) = self.input
        return (grad_output * x.detach().clamp(min=0),)

    def remove(self):
        for handle in self.handles:
            handle.remove()


class Composite:
    def __init__(self, model):
        self.model = model

    def __enter__(self):
        linear = [each for each in self.model.modules() if isinstance(each, torch.nn.Linear)]
        self.hooks = [Hook().register(each) for each in linear]
        return self.model

    def __exit__(self, *_):
        for hook in self.hooks:
            hook.remove()
        self.hooks.clear()


def attribute(model, images):
    heatmaps = []
    for image in images:
        data = image.unsqueeze(0).requires_grad_()
        with Composite(model) as modified:
            modified(data).sum().backward()
        heatmaps.append(data.grad.sum(1).numpy())
    return heatmaps
