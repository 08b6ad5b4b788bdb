#? masks: instance:train.py:Net .masks = dict
#? pairs: instance:train.py:Net .pairs = dict
#? texts: instance:train.py:Net .texts = dict
#? longer: instance:train.py:Net .longer = dict
#? stepped: instance:train.py:Net .stepped = dict
#? powers: instance:train.py:Net .powers = dict
#? features: instance:train.py:Bank .features = dict
#? rows: instance:train.py:Bank .rows = dict
#? losses: module:train.py losses = dict
#? values: module:train.py values = dict
#? others: module:train.py others = dict
#? paths: module:train.py paths = dict
import torch
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm

losses, values, others, paths = {}, {}, {}, {}


class Indexed(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return index, self.rows[index]


class Lookup:
    """No data set: it has no length."""

    def __getitem__(self, name):
        return name


class Net:
    def __init__(self):
        self.masks, self.pairs, self.texts, self.longer, self.stepped, self.powers = {}, {}, {}, {}, {}, {}
        self.seen = torch.zeros(0)

    def mask(self, n):
        if n not in self.masks:
            self.masks[n] = torch.ones(n, n)  # <- masks bounded
        return self.masks[n]

    def pair(self, x):
        b, t = x.shape
        key = (t, x.size(1) // 8 * 8, "causal", x.dtype)
        self.pairs[key] = x  # <- pairs bounded
        self.texts[f"{b}x{t}"] = x  # <- texts bounded

    def keep(self, n, value):
        self.stepped[n] = value  # <- stepped

    def forward(self, x, step):
        self.pair(x)
        self.seen = torch.cat([self.seen, x])
        self.longer[self.seen.shape[0]] = x  # <- longer
        self.powers[step + 1] = x  # <- powers
        self.keep(x.shape[0], x)
        self.keep(step, x)
        return self.mask(x.shape[1])


class Bank:
    def __init__(self):
        self.features, self.rows = {}, {}

    def update(self, indices, feats):
        for i, f in zip(indices.tolist(), feats):
            self.features[i] = f  # <- features bounded

    def file(self, row, feats):
        self.rows[row] = feats  # <- rows


def train(net, bank, rows):
    loader = DataLoader(Indexed(rows), batch_size=4)
    for epoch in range(100):
        for step, (indices, x) in enumerate(tqdm(loader)):
            net.forward(x, step)
            bank.update(indices, x)
            for i, loss in zip(indices.cpu().numpy(), x):
                losses[int(i)] = loss  # <- losses bounded
            # What it has of a sample is not its number.
            for value in x.tolist():
                values[value] = 1  # <- values
            bank.file(x[0].item(), x)
        for pair in loader:
            numbers, _ = pair
            for i in numbers:
                others[i.item()] = 1  # <- others bounded
        for index, x in rows:
            paths[index] = x  # <- paths


train(Net(), Bank(), [(i, i) for i in range(1000)])
