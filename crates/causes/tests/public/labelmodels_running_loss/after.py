import numpy as np
import torch
from torch import nn


class AnnotatorModel(nn.Module):
    """Class balance and annotator accuracies, fitted by maximum likelihood."""

    def __init__(self, classes, annotators):
        super().__init__()
        self.balance = nn.Parameter(torch.zeros(classes))
        self.accuracy = nn.Parameter(torch.ones(annotators, classes))

    def forward(self, votes):
        evidence = votes.float() @ self.accuracy
        return torch.logsumexp(evidence + torch.log_softmax(self.balance, dim=0), dim=1)

    def fit(self, votes, epochs=5, batch_size=64, seed=0):
        rng = np.random.RandomState(seed)
        optimizer = torch.optim.Adam(self.parameters(), lr=0.01)
        for epoch in range(epochs):
            order = rng.permutation(len(votes))
            epoch_loss = 0.0
            self.train()
            for start in range(0, len(votes), batch_size):
                rows = votes[order[start : start + batch_size]]
                optimizer.zero_grad()
                nll = -self(rows).mean()
                nll.backward()
                optimizer.step()
                epoch_loss += nll.item()
            steps = max(1, len(votes) // batch_size)
            print(f"epoch {epoch}: {epoch_loss / steps:.4f}")


if __name__ == "__main__":
    labels = torch.randint(0, 2, (4096, 12))
    AnnotatorModel(classes=3, annotators=12).fit(labels)
