from pathlib import Path

import torch
import torchvision
from datasets import load_from_disk
from torch.utils.data import DataLoader, Dataset


def decode(path, timestamps):
    reader = torchvision.io.VideoReader(str(path), "video")
    reader.seek(timestamps[0])
    frames = []
    for frame in reader:
        frames.append(frame["data"])
        if frame["pts"] >= timestamps[-1]:
            break
    reader.container.close()
    return torch.stack(frames)


def load_from_videos(item, video_keys, folder):
    for key in video_keys:
        if isinstance(item[key], list):
            stamps = [frame["timestamp"] for frame in item[key]]
            item[key] = decode(folder / item[key][0]["path"], stamps)  # the leak
        else:
            item[key] = decode(folder / item[key]["path"], [item[key]["timestamp"]])[0]  # the leak
    return item


class RobotDataset(Dataset):
    def __init__(self, folder, video_keys):
        self.folder = Path(folder)
        self.video_keys = video_keys
        table = load_from_disk(str(self.folder / "table"))
        self.rows = [table[i] for i in range(len(table))]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        item = self.rows[index]
        if self.video_keys:
            item = load_from_videos(item, self.video_keys, self.folder)
        return item


def loader(folder):
    return DataLoader(RobotDataset(folder, ["camera"]), batch_size=8, shuffle=True)
