import numpy as np
from torch.utils.data import DataLoader, Dataset

from scans import unpickle


class Listening(Dataset):
    def __init__(self, references, scans, per_scan=52):
        self.references = references
        self.scans = scans  # the leak
        self.per_scan = per_scan

    def __len__(self):
        return len(self.references)

    def __getitem__(self, index):
        reference = self.references.iloc[index]
        scan = self.scans[reference["scan_id"]]
        objects = np.random.choice(scan.objects, self.per_scan)
        points = np.stack([scan.points[one.points] for one in objects])
        return {"points": points, "tokens": reference["tokens"], "target": reference["target_id"]}


def loaders(args, references):
    scans = unpickle(args.scannet_file)
    for split in ("train", "test"):
        part = references[references.split == split].reset_index()
        yield DataLoader(Listening(part, scans), batch_size=args.batch, num_workers=args.workers, shuffle=split == "train")
