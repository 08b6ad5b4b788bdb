import glob
import os

import h5py
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Trajectories(Dataset):
    """Windows of simulations that lie in many HDF5 files."""

    def __init__(self, folder, window=4):
        self.paths = sorted(glob.glob(os.path.join(folder, "*.hdf5")))
        self.window = window
        self.starts = [0]
        for path in self.paths:
            with h5py.File(path, "r") as file:
                count = file["fields"].shape[0] - window
            self.starts.append(self.starts[-1] + count)

    def __len__(self):
        return self.starts[-1]

    def __getitem__(self, index):
        at = int(np.searchsorted(self.starts, index, side="right")) - 1
        first = index - self.starts[at]
        with h5py.File(self.paths[at], "r") as file:
            fields = file["fields"][first : first + self.window]
        return torch.as_tensor(fields)


def batches(folder):
    return DataLoader(Trajectories(folder), batch_size=8, num_workers=6, shuffle=True, persistent_workers=True)
