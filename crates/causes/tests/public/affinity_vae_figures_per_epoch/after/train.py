import torch
from torch.nn import functional as F

import vis


def train(epochs, trains, vals, vae, optimizer, classes, freq_acc=5):
    history = []
    for epoch in range(epochs):
        vae.train()
        total = 0.0
        for x, y in trains:
            x_hat, mu, log_var, _ = vae(x)
            loss = F.mse_loss(x_hat, x) - 0.5 * (1 + log_var - mu.pow(2) - log_var.exp()).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        history.append(total / len(trains))

        vae.eval()
        truth, predicted = [], []
        with torch.no_grad():
            for x, y in vals:
                _, _, _, scores = vae(x)
                truth += y.tolist()
                predicted += scores.argmax(1).tolist()
        if (epoch + 1) % freq_acc == 0:
            vis.accuracy_plot(truth, predicted, classes, mode="val")
            vis.loss_plot(history)
