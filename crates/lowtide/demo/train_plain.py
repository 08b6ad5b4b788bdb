"""A small training run that leaks: a perceptron with one hidden layer, trained by SGD, in plain Python.

The leak is planted in `Trainer.step`, in the line marked PLANTED. Everything else is as in any training loop:
epochs, batches, a validation after each epoch whose predictions are kept only until it is over.
"""

import math
import random
import signal
import sys
import time

FEATURES, HIDDEN, BATCH = 8, 32, 16
STEPS_PER_EPOCH = 60
VALIDATION_ROWS = 4000
# At most so many steps per second: the leak then grows alike on slow and fast machines, and a core stays free.
STEPS_PER_SECOND = 40.0


def rows(rng, count):
    """Points inside and outside a sphere: a task that needs the hidden layer."""
    made = []
    for _ in range(count):
        point = [rng.gauss(0.0, 1.0) for _ in range(FEATURES)]
        made.append((point, 1.0 if sum(x * x for x in point) > FEATURES else 0.0))
    return made


class Trainer:
    def __init__(self, rng):
        self.w1 = [[rng.gauss(0.0, 0.4) for _ in range(FEATURES)] for _ in range(HIDDEN)]
        self.b1 = [0.0] * HIDDEN
        self.w2 = [rng.gauss(0.0, 0.4) for _ in range(HIDDEN)]
        self.b2 = 0.0
        self.outputs = []

    def forward(self, point):
        hidden = [math.tanh(sum(w * x for w, x in zip(ws, point)) + b) for ws, b in zip(self.w1, self.b1)]
        score = sum(w * h for w, h in zip(self.w2, hidden)) + self.b2
        return hidden, 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, score))))

    def step(self, batch, rate=0.1):
        loss = 0.0
        activations = []
        for point, label in batch:
            hidden, guess = self.forward(point)
            activations.append(hidden)
            loss -= math.log(max(1e-9, guess if label else 1.0 - guess))
            error = (guess - label) * rate / len(batch)
            for j, h in enumerate(hidden):
                back = error * self.w2[j] * (1.0 - h * h)
                self.w2[j] -= error * h
                self.b1[j] -= back
                ws = self.w1[j]
                for i, x in enumerate(point):
                    ws[i] -= back * x
            self.b2 -= error
        self.outputs.append(activations)  # PLANTED: kept for a plot that nobody makes
        return loss / len(batch)

    def validate(self, data):
        predictions = []
        for point, label in data:
            hidden, guess = self.forward(point)
            predictions.append((hidden, guess, label))
        return sum((guess > 0.5) == (label > 0.5) for _, guess, label in predictions) / len(predictions)


def main(seconds):
    rng = random.Random(5)
    validation = rows(rng, VALIDATION_ROWS)
    trainer = Trainer(rng)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        due = time.monotonic()
        for _ in range(STEPS_PER_EPOCH):
            trainer.step(rows(rng, BATCH))
            due += 1.0 / STEPS_PER_SECOND
            time.sleep(max(0.0, due - time.monotonic()))
            if time.monotonic() >= end:
                return
        trainer.validate(validation)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    main(float(sys.argv[1]))
