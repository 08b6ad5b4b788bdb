"""A small training run that leaks: a perceptron with one hidden layer, trained by SGD, with torch on the CPU.

The leak is planted in `Trainer.step`, in the line marked PLANTED. Everything else is as in any training loop:
epochs, batches, a validation after each epoch whose predictions are kept only until it is over.
"""

import signal
import sys
import time

import torch

FEATURES, HIDDEN, BATCH = 64, 128, 16
STEPS_PER_EPOCH = 60
VALIDATION_ROWS = 20000
# At most so many steps per second: the leak then grows alike on slow and fast machines, and a core stays free.
STEPS_PER_SECOND = 40.0


def rows(count):
    """Points inside and outside a sphere: a task that needs the hidden layer."""
    points = torch.randn(count, FEATURES)
    return points, (points.square().sum(1) > FEATURES).long()


class Trainer:
    def __init__(self):
        self.model = torch.nn.Sequential(
            torch.nn.Linear(FEATURES, HIDDEN), torch.nn.Tanh(), torch.nn.Linear(HIDDEN, HIDDEN), torch.nn.Tanh(),
            torch.nn.Linear(HIDDEN, 2),
        )
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.outputs = []

    def step(self, batch):
        points, labels = batch
        out = self.model(points)
        loss = torch.nn.functional.cross_entropy(out, labels)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.outputs.append(self.model(points))  # PLANTED: the graph that made it is kept with it
        return loss.item()

    def validate(self, data):
        points, labels = data
        with torch.no_grad():
            predictions = [self.model(chunk) for chunk in points.split(1000)]
        return (torch.cat(predictions).argmax(1) == labels).float().mean().item()


def main(seconds):
    torch.manual_seed(5)
    torch.set_num_threads(1)
    validation = rows(VALIDATION_ROWS)
    trainer = Trainer()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        due = time.monotonic()
        for _ in range(STEPS_PER_EPOCH):
            trainer.step(rows(BATCH))
            due += 1.0 / STEPS_PER_SECOND
            time.sleep(max(0.0, due - time.monotonic()))
            if time.monotonic() >= end:
                return
        trainer.validate(validation)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    main(float(sys.argv[1]))
