#? kept: class:lib/python3.11/site-packages/matplotlib/_pylab_helpers.py:Gcf .figs = collections.OrderedDict
#? of_module: module:lib/python3.11/site-packages/matplotlib/_pylab_helpers.py Gcf .figs = collections.OrderedDict
import matplotlib.pyplot as plt


def plot(values):
    fig, ax = plt.subplots()  # <- kept # <- of_module
    ax.plot(values)
    fig.savefig("out.png")


def other(values):
    plt.figure()  # <- kept # <- of_module
    plt.plot(values)


for i in range(100):
    plot([i])
    other([i])
# file: lib/python3.11/site-packages/matplotlib/__init__.py
# file: lib/python3.11/site-packages/matplotlib/pyplot.py
# file: lib/python3.11/site-packages/matplotlib/_pylab_helpers.py
class Gcf:
    figs = {}

    @classmethod
    def destroy_all(cls):
        cls.figs.clear()

    @classmethod
    def set_active(cls, manager):
        cls.figs[manager.num] = manager
