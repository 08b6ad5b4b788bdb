import torch
from torch import nn


class TextAutoencoder(nn.Module):
    def __init__(self, words=10_000, width=256):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.encoder = nn.GRU(width, width, batch_first=True)
        self.decoder = nn.GRU(width, width, batch_first=True)
        self.words = nn.Linear(width, words)

    def forward(self, sentences):
        embedded = self.embed(sentences)
        _, code = self.encoder(embedded)
        out, _ = self.decoder(embedded, code)
        return self.words(out), code


def train(model, discriminator, batches, steps):
    reconstruct = torch.optim.Adam(model.parameters(), lr=1e-3)
    attribute = torch.optim.Adam(discriminator.parameters(), lr=1e-3)
    cross = nn.CrossEntropyLoss()
    for step in range(steps):
        sentences, labels = next(batches)
        sentences, labels = sentences.cuda(), labels.cuda()
        logits, code = model(sentences)
        words_loss = cross(logits[:, :-1].flatten(0, 1), sentences[:, 1:].flatten())
        reconstruct.zero_grad()
        attribute.zero_grad()
        words_loss.backward(retain_graph=True)

        guess = discriminator(code[-1])
        attribute_loss = cross(guess, labels)
        attribute_loss.backward(retain_graph=True)  # the leak
        reconstruct.step()
        attribute.step()
        if step % 500 == 0:
            print(step, words_loss.item(), attribute_loss.item())


def main(batches):
    model = TextAutoencoder().cuda()
    discriminator = nn.Sequential(nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 2)).cuda()
    train(model, discriminator, batches, steps=100_000)
