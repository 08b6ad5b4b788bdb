import time

import numpy as np
import torch


def predict(model, X, batch_size=64):
    model.eval()
    parts = []
    with torch.no_grad():
        for start in range(0, len(X), batch_size):
            batch = X[start : start + batch_size].cuda()
            parts.append(model(batch).cpu())
    return torch.cat(parts)


class AccessibilityModel(torch.nn.Module):
    def __init__(self, filters=64, layers=8):
        super().__init__()
        self.first = torch.nn.Conv1d(4, filters, kernel_size=21, padding=10)
        self.dilated = torch.nn.ModuleList(
            torch.nn.Conv1d(filters, filters, kernel_size=3, padding=2**i, dilation=2**i) for i in range(1, layers + 1)
        )
        self.counts = torch.nn.Linear(filters, 1)

    def forward(self, X):
        X = torch.relu(self.first(X))
        for layer in self.dilated:
            X = X + torch.relu(layer(X))
        return self.counts(X.mean(dim=2))

    def fit(self, training_data, optimizer, X_valid, y_valid, max_epochs=50):
        X_valid = X_valid.cuda(non_blocking=True)  # the leak
        y_valid = y_valid.cuda(non_blocking=True)  # the leak
        best = np.inf
        for epoch in range(max_epochs):
            started = time.time()
            self.train()
            for X, y in training_data:
                X, y = X.cuda(), y.cuda()
                optimizer.zero_grad()
                loss = torch.nn.functional.mse_loss(self(X), y)
                loss.backward()
                optimizer.step()
            valid = predict(self, X_valid)
            error = (valid - y_valid.cpu()).pow(2).mean().item()
            print(f"{epoch}\t{time.time() - started:.1f}\t{loss.item():.4f}\t{error:.4f}")
            if error < best:
                best = error
                torch.save(self.state_dict(), "best.pt")


def main(training_data, X_valid, y_valid):
    model = AccessibilityModel().cuda()
    model.fit(training_data, torch.optim.AdamW(model.parameters()), X_valid, y_valid)
