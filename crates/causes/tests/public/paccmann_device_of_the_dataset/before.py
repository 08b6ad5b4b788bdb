import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class SMILESTokens(Dataset):
    """Molecules as padded indices of tokens."""

    def __init__(self, smiles, vocabulary, padding_length=128, device=None):
        self.device = device or torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.padding_length = padding_length
        rows = [[vocabulary[symbol] for symbol in text][:padding_length] for text in smiles]
        self.lengths = torch.tensor([len(row) for row in rows])
        self.indices = torch.tensor([index for row in rows for index in row])
        self.starts = self.lengths.cumsum(0) - self.lengths

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, index):
        start, length = self.starts[index], self.lengths[index]
        tokens = torch.zeros(self.padding_length, dtype=torch.long)
        tokens[:length] = self.indices[start : start + length]
        return tokens.to(self.device)  # the leak


class AffinityDataset(Dataset):
    def __init__(self, ligands, affinities):
        self.ligands = ligands
        self.affinities = torch.tensor(affinities)

    def __len__(self):
        return len(self.ligands)

    def __getitem__(self, index):
        return self.ligands[index], self.affinities[index]


def train(model, data, epochs):
    loader = DataLoader(data, batch_size=512, shuffle=True)
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(epochs):
        for ligands, affinity in loader:
            predicted = model(ligands).squeeze(1)
            loss = nn.functional.mse_loss(predicted, affinity.to(predicted.device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())
