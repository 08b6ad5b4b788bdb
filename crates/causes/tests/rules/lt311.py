# Images kept open.
import numpy as np
import PIL.Image
from PIL import Image

GALLERY = []


class Photos:
    def __init__(self, paths):
        self.images = [Image.open(path) for path in paths]  # LT311
        self.by_name = {path: PIL.Image.open(path) for path in paths}  # LT311
        self.pixels = [np.asarray(Image.open(path)) for path in paths]
        self.loaded = [Image.open(path).convert("RGB") for path in paths]
        self.paths = paths
        self.cache = {}

    def __getitem__(self, at):
        if at not in self.cache:
            image = Image.open(self.paths[at])
            self.cache[at] = image  # LT311
        return self.cache[at]


class Scenes:
    def __init__(self):
        self.frames = []
        self.copies = []

    def read(self, folder):
        for path in folder:
            self.frames.append(Image.open(path))  # LT311
            with Image.open(path) as image:
                self.copies.append(image.copy())


def show(paths):
    for path in paths:
        look(path)
        size(path)


def look(path):
    photo = Image.open(path)
    GALLERY.append((photo.size, path))  # LT301 hint
    GALLERY.append(photo)  # LT311


def size(path):
    return Image.open(path).size


def loaded(paths):
    for path in paths:
        drawn = Image.open(path)
        drawn.load()
        GALLERY.append(drawn)


SHEETS = [Image.open(sheet) for sheet in sorted(GALLERY)]  # LT311
FEW = ["a.png", "b.png"]
ICONS = [Image.open(icon) for icon in FEW]
PIXELS = [np.asarray(Image.open(sheet)) for sheet in sorted(GALLERY)]


def opened(path):
    shown = Image.open(path)
    return shown


def opened_and_loaded(path):
    with Image.open(path) as shown_once:
        return shown_once.convert("RGB")


class Album:
    def __init__(self, paths):
        self.pictures = [opened(path) for path in paths]  # LT311
        self.pixels = [opened_and_loaded(path) for path in paths]
