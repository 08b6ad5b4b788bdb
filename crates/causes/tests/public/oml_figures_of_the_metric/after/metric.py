import matplotlib.pyplot as plt
import torch


class RetrievalMetric:
    def __init__(self, show=5):
        self.show = show
        self.embeddings, self.paths = [], []

    def setup(self):
        self.embeddings, self.paths = [], []

    def update(self, embeddings, paths):
        self.embeddings.append(embeddings.cpu())
        self.paths.extend(paths)

    def compute(self):
        points = torch.cat(self.embeddings)
        distances = torch.cdist(points, points).fill_diagonal_(float("inf"))
        self.worst = distances.min(1).values.topk(self.show).indices.tolist()
        return {"nearest": distances.min(1).values.mean().item()}

    def visualize(self):
        fig = plt.figure(figsize=(30, 6 * self.show))
        for row, at in enumerate(self.worst):
            plt.subplot(self.show, 1, row + 1)
            plt.imshow(plt.imread(self.paths[at]))
            plt.axis("off")
        fig.tight_layout()
        return fig
