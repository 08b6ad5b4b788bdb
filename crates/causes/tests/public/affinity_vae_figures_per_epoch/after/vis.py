import matplotlib.pyplot as plt
import numpy as np


def accuracy_plot(truth, predicted, classes, mode):
    counts = np.zeros((len(classes), len(classes)))
    for one, other in zip(truth, predicted):
        counts[one, other] += 1
    fig, ax = plt.subplots(figsize=(9, 9))
    ax.imshow(counts / counts.sum(1, keepdims=True))
    ax.set_xticks(range(len(classes)), classes, rotation=90)
    ax.set_yticks(range(len(classes)), classes)
    plt.tight_layout()
    plt.savefig(f"plots/accuracy_{mode}.png", dpi=144)
    plt.close(fig)


def loss_plot(losses):
    plt.figure(figsize=(8, 5))
    plt.plot(losses)
    plt.savefig("plots/loss.png")
    plt.close()
