import pickle

import numpy as np


def unpickle(path):
    """The rooms of the data set: all points in one array, and where each room's begin."""
    with open(path, "rb") as file:
        scans = pickle.load(file)
    starts = np.cumsum([0] + [len(scan.points) for scan in scans])
    return {scan.scan_id: at for at, scan in enumerate(scans)}, np.concatenate([scan.points for scan in scans]), starts
