# Outputs on contexts.
import torch
from torch.autograd import Function


class Exponential(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.y = y  # LT605
        return y

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.y


class Two(Function):
    @staticmethod
    def forward(context, x, factor):
        low, high = x.min() * factor, x.max()
        context.low = low  # LT605
        context.factor = factor
        return low, high


class Later(Function):
    @staticmethod
    def forward(x):
        return x.tanh()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.result = output  # LT605


class Base(Function):
    pass


class Inherited(Base):
    @staticmethod
    def forward(ctx, x):
        mask = x > 0
        kept = x * mask
        ctx.mask = mask
        ctx.kept = kept  # LT605
        return kept


class Sometimes(Function):
    @staticmethod
    def forward(ctx, x, again):
        out = torch.sigmoid(x)
        if again:
            ctx.saved = out  # LT605
        return out


# Harmless.


class Saved(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        ctx.shape = y.shape
        return y


class Other(Function):
    @staticmethod
    def forward(ctx, x, size):
        y = x.exp()
        ctx.size = size
        ctx.half = y / 2
        return y


class Input(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x * 2


class Setup(Function):
    @staticmethod
    def setup_context(ctx, inputs, output):
        (first,) = inputs
        ctx.save_for_backward(output)
        ctx.first = first


class Net(torch.nn.Module):
    def forward(self, x):
        y = self.body(x)
        self.y = y
        return y


class Replaced(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.y = y
        y = y + 1
        return y


class Dropped(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.y = y
        return y

    @staticmethod
    def backward(ctx, grad):
        y = ctx.y
        del ctx.y
        return grad * y
