# Figures that are given on, and figures that are not asked for by name. Nothing here closes one.
import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
import wandb
from torch.utils.tensorboard import SummaryWriter

KEPT = []


def heat(values):
    fig = plt.figure()
    fig.gca().imshow(values)
    return fig


def decorate(fig, title):
    fig.suptitle(title)
    fig.tight_layout()


class Panel:
    def render(self, values):
        figure, axis = plt.subplots()
        axis.plot(values)
        return figure


class Watch:
    def __init__(self, panel, experiment):
        self.panel = panel
        self.experiment = experiment
        self.table = pd.DataFrame({"a": [1]})

    def on_validation_epoch_end(self, values):
        drawing = self.panel.render(values)  # LT309
        self.experiment["curve"].append(drawing)


def run(epochs, values, run_id, watch):
    writer = SummaryWriter()
    for epoch in range(epochs):
        writer.add_figure("open", heat(values), epoch, close=False)  # LT309
        shown = heat(values)  # LT309
        writer.add_figure("open again", shown, epoch, False)
        image = heat(values)  # LT309
        wandb.log({"image": wandb.Image(image), "epoch": epoch})
        titled = heat(values)  # LT309
        decorate(titled, str(epoch))
        titled.savefig(f"{run_id}_{epoch}.png")
        held = heat(values)  # LT309
        KEPT.append(held)
        watch.on_validation_epoch_end(values)


def tables(all_rows):
    for at, rows in enumerate(all_rows):
        axis = pd.DataFrame(rows).plot()  # LT309
        axis.figure.savefig(f"{at}.png")
        frame = pd.read_csv(rows)
        bars = frame.groupby("epoch").mean().plot.bar(stacked=True)  # LT309
        bars.get_figure().savefig("bars.png")
        pairs = sns.pairplot(frame)  # LT309
        pairs.savefig("pairs.png")


# Harmless.
def closed_by_writer(epochs, values, writer):
    for epoch in range(epochs):
        writer.add_figure("closed", heat(values), epoch)
        writer.add_figure("closed", heat(values), epoch, True)
        writer.add_figure("closed", heat(values), epoch, close=True)


def into_one(all_rows, path):
    fig, axis = plt.subplots()
    for rows in all_rows:
        pd.DataFrame(rows).plot(ax=axis)
        sns.lineplot(pd.DataFrame(rows), ax=axis)
        sns.heatmap(rows)
    fig.savefig(path)


def listed(parts):
    drawn = []
    for part in parts:
        drawn.append(heat(part))
    return drawn


def unknown(epochs, values, take):
    for epoch in range(epochs):
        take(heat(values), epoch)
        take.figure(figure=heat(values))


def of_others(models):
    for model in models:
        model.plot()
        model.summary.plot("x")


def only_once(values):
    only = heat(values)
    only.savefig("only.png")


only_once([1])
