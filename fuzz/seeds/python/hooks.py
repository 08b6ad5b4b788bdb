#? forward: module:train.py net ._forward_hooks@torch/nn.py:Module = OrderedDict
#? pre: instance:torch/nn.py:Module ._forward_pre_hooks = OrderedDict
#? backward: module:train.py net ._backward_hooks@torch/nn.py:Module = OrderedDict
#? own: instance:train.py:Bus .handlers = list
#? opt: instance:torch/optim.py:SGD ._optimizer_step_post_hooks = OrderedDict
import torch

net = torch.nn.Linear(2, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)


class Bus:
    def __init__(self):
        self.handlers = []

    def on(self, handler):
        self.handlers.append(handler)  # <- own


def keep(module, args, out):
    pass


bus = Bus()
for epoch in range(10):
    net.register_forward_hook(keep)  # <- forward
    net.register_forward_pre_hook(keep)  # <- pre
    handle = net.register_full_backward_hook(keep)  # <- backward bounded
    opt.register_step_post_hook(keep)  # <- opt
    bus.on(lambda: epoch)
    handle.remove()
