import numpy as np
import torch
from torch import optim
from tqdm import tqdm


def batches_of(tasks, size):
    order = np.random.permutation(len(tasks))
    for start in range(0, len(order) - size + 1, size):
        yield [tasks[i] for i in order[start : start + size]]


def train_step(model, opt, tasks):
    opt.zero_grad()
    losses = [model.loss_fn(task, normalise=True) for task in tasks]
    mean = torch.stack(losses).mean()
    mean.backward()
    opt.step()
    return mean.item()


def train_epoch(model, tasks, lr=5e-5, batch_size=1):
    opt = optim.Adam(model.parameters(), lr=lr)  # the leak
    return [train_step(model, opt, part) for part in batches_of(tasks, batch_size)]


def validation_error(model, tasks):
    errors = []
    with torch.no_grad():
        for task in tasks:
            predicted = model.predict_mean(task).cpu().numpy()
            errors.append(np.sqrt(np.mean((predicted - task["Y_target"]) ** 2)))
    return float(np.mean(errors))


def main(model, train_tasks, val_tasks, n_epochs=50):
    best = np.inf
    for epoch in tqdm(range(n_epochs)):
        losses = train_epoch(model, train_tasks, batch_size=5)  # the leak
        error = validation_error(model, val_tasks)
        print(epoch, np.mean(losses), error)
        if error < best:
            best = error
            model.save("best")
