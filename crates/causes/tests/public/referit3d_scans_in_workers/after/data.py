import numpy as np
from torch.utils.data import DataLoader, Dataset

from scans import unpickle


class Listening(Dataset):
    def __init__(self, rooms, points, starts, tokens, targets):
        self.rooms = rooms
        self.points = points
        self.starts = starts
        self.tokens = tokens
        self.targets = targets

    def __len__(self):
        return len(self.rooms)

    def __getitem__(self, index):
        room = self.rooms[index]
        points = self.points[self.starts[room] : self.starts[room + 1]]
        return {"points": points[np.random.permutation(len(points))[:4096]], "tokens": self.tokens[index], "target": self.targets[index]}


def loaders(args, references):
    places, points, starts = unpickle(args.scannet_file)
    for split in ("train", "test"):
        part = references[references.split == split].reset_index()
        rooms = part.scan_id.map(places).to_numpy()
        data = Listening(rooms, points, starts, np.stack(part.tokens), part.target_id.to_numpy())
        yield DataLoader(data, batch_size=args.batch, num_workers=args.workers, shuffle=split == "train")
