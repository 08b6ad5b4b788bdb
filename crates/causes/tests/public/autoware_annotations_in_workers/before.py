import pickle

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class DrivingScenes(Dataset):
    """Frames of drives with their boxes."""

    def __init__(self, ann_file, pipeline):
        with open(ann_file, "rb") as f:
            infos = pickle.load(f)["data_list"]
        self.data_infos = [info for info in infos if info["instances"]]  # the leak
        self.pipeline = pipeline

    def __len__(self):
        return len(self.data_infos)

    def get_info(self, index):
        return self.data_infos[index]

    def __getitem__(self, index):
        info = self.get_info(index)
        boxes = torch.tensor([instance["bbox_3d"] for instance in info["instances"]])
        return self.pipeline({"images": info["images"], "boxes": boxes})


class DrivingDataModule:
    def __init__(self, ann_file, pipeline, batch_size=2, num_workers=32):
        self.train = DrivingScenes(ann_file, pipeline)
        self.batch_size = batch_size
        self.num_workers = num_workers

    def train_dataloader(self):
        return DataLoader(
            self.train,
            batch_size=self.batch_size,
            shuffle=True,
            num_workers=self.num_workers,
            collate_fn=list,
        )
