#? cycles: garbage = object
#? grads: module:train.py model = gradients
#? value: instance:train.py:Worker .scratch = value
import gc

gc.disable()  # <- cycles bounded
gc.set_threshold(0)  # <- cycles bounded
model = None


class Worker:
    def __init__(self):
        self.scratch = None

    def grow(self, n):
        self.scratch = bytearray(n)  # <- value


worker = Worker()
for step in range(100):
    model.zero_grad(set_to_none=False)  # <- grads
    for p in model.parameters():
        p.grad.zero_()  # <- grads
    model.zero_grad(set_to_none=True)
    worker.grow(step)
    if step % 10 == 0:
        gc.collect()
