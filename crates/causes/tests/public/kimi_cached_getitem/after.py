import json

import torch
import torchaudio
from torch.utils.data import DataLoader, Dataset


class SpokenDialogues(Dataset):
    """Dialogues of text and speech for supervised fine-tuning."""

    def __init__(self, path, tokenizer, rate=16_000):
        super().__init__()
        with open(path) as f:
            self.offsets = torch.tensor([len(line) for line in f]).cumsum(0)
        self.path = path
        self.tokenizer = tokenizer
        self.rate = rate

    def __len__(self):
        return len(self.offsets)

    def _record(self, index):
        start = int(self.offsets[index - 1]) if index else 0
        with open(self.path) as f:
            f.seek(start)
            return json.loads(f.readline())

    def __getitem__(self, index):
        record = self._record(index)
        wave, rate = torchaudio.load(record["audio"])
        wave = torchaudio.functional.resample(wave, rate, self.rate)
        tokens = self.tokenizer(record["text"])
        return {"wave": wave.mean(0), "input_ids": torch.tensor(tokens), "labels": torch.tensor(tokens)}


def collate(samples):
    pad = torch.nn.utils.rnn.pad_sequence
    return {key: pad([sample[key] for sample in samples], batch_first=True) for key in samples[0]}


def train(model, data, optimizer, epochs):
    loader = DataLoader(data, batch_size=4, shuffle=True, num_workers=8, collate_fn=collate)
    for _ in range(epochs):
        for batch in loader:
            loss = model(**{key: value.cuda() for key, value in batch.items()})
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
