import matplotlib.pyplot as plt
import torch
from torch.utils.tensorboard import SummaryWriter


def visualize_sequence(frames, title=None):
    """One figure with a row of frames."""
    fig, axes = plt.subplots(1, len(frames), figsize=(2 * len(frames), 2))  # the leak
    for axis, frame in zip(axes, frames):
        axis.imshow(frame.permute(1, 2, 0).clamp(0, 1).cpu().numpy())
        axis.axis("off")
    if title is not None:
        fig.suptitle(title)
    fig.tight_layout()
    return fig


class Trainer:
    def __init__(self, model, optimizer, loader, log_path):
        self.model = model
        self.optimizer = optimizer
        self.loader = loader
        self.writer = SummaryWriter(log_path)

    def visualizations(self, frames, predicted, iteration):
        fig = visualize_sequence(frames[0], title="seen")  # the leak
        fig.savefig(f"seen_{iteration}.png")
        fig = visualize_sequence(predicted[0], title="predicted")  # the leak
        fig.savefig(f"predicted_{iteration}.png")

    def train(self, epochs, image_frequency=200):
        iteration = 0
        for _ in range(epochs):
            for frames in self.loader:
                frames = frames.cuda()
                predicted = self.model(frames[:, :5])
                loss = (predicted - frames[:, 5:]).pow(2).mean()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.writer.add_scalar("loss", loss.item(), iteration)
                if iteration % image_frequency == 0:
                    with torch.no_grad():
                        self.visualizations(frames, predicted, iteration)
                iteration += 1
