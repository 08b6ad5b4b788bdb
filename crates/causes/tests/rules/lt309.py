# Figures.
import matplotlib
import matplotlib.pyplot as plt
from matplotlib.pyplot import subplots


def curve(values, path):
    plt.figure(figsize=(4, 3))  # LT309
    plt.plot(values)
    plt.savefig(path)


def grid(images, path):
    fig, axes = subplots(2, 2)  # LT309
    axes[0][0].imshow(images[0])
    fig.savefig(path)


def report(epochs):
    for epoch in range(epochs):
        curve([epoch], f"{epoch}.png")
        grid([epoch], "grid.png")
        shut([epoch], "a.png")
        shut_all([epoch], "a.png")
        seen([epoch])
        made([epoch])
        numbered([epoch])
        noted([epoch], None)


class Painter:
    def on_train_epoch_end(self):
        pass


def loops(runs):
    for run in runs:
        f = plt.figure()  # LT309
        f.gca().plot(run)
        f.savefig("x.png")


def pairs(runs):
    while runs:
        left, right = plt.subplots(ncols=2)  # LT309
        right[0].hist(runs.pop())
        left.savefig("y.png")


class Board:
    def draw(self, values):
        figure, axis = matplotlib.pyplot.subplots()  # LT309
        axis.plot(values)
        figure.savefig("z.png")

    def run(self, all_values):
        for values in all_values:
            self.draw(values)


def saved(runs):
    for run in runs:
        plt.figure()
        plt.plot(run)
        save_one("a.png")


def drawn(runs):
    for run in runs:
        given = made(run)  # LT309
        given.savefig("b.png")


def save_one(path):
    plt.savefig(path)
    plt.close()


# Harmless.
def shut(values, path):
    fig, ax = plt.subplots()
    ax.plot(values)
    fig.savefig(path)
    plt.close(fig)


def shut_all(values, path):
    plt.figure()
    plt.plot(values)
    plt.savefig(path)
    plt.close("all")


def seen(values):
    plt.figure()
    plt.plot(values)
    plt.show()


def made(values):
    fig, ax = plt.subplots()
    ax.plot(values)
    return fig


def numbered(values):
    plt.figure(1)
    plt.clf()
    plt.plot(values)


def noted(values, writer):
    fig = plt.figure()
    fig.gca().plot(values)
    writer.add_figure("values", fig)


def single(values):
    plt.figure()
    plt.plot(values)
    plt.savefig("only.png")


single([1, 2])


def numbered(values, epoch):
    plt.figure(epoch)  # LT309
    plt.plot(values)
    plt.savefig("last.png")


def always_the_first(values, epoch):
    plt.figure(1)
    plt.plot(values)
    plt.savefig(f"{epoch}.png")


def plots(runs):
    for epoch, values in enumerate(runs):
        numbered(values, epoch)
        always_the_first(values, epoch)
