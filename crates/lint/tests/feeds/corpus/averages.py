#? shown: frame:train.py:main shown = graph
#? value: instance:train.py:Smoothed .value = graph
class Smoothed:
    def __init__(self, beta=0.9):
        self.beta = beta
        self.value = None

    def update(self, loss):
        if self.value is None:
            self.value = loss
        else:
            self.value = self.beta * self.value + (1 - self.beta) * loss  # <- shown # <- value
        return self.value


def main(model, loader):
    smooth = Smoothed()
    for x in loader:
        loss, kl = model(x)
        loss.backward()
        shown = smooth.update(kl)  # <- shown # <- value


main(None, [])
