import sys

import soundfile
import torch
from torch import nn


class SpeechModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.features = nn.Conv1d(1, config["width"], kernel_size=400, stride=320)
        layer = nn.TransformerEncoderLayer(config["width"], nhead=8)
        self.encoder = nn.TransformerEncoder(layer, num_layers=config["layers"])

    def extract_features(self, wave):
        x = self.features(wave.unsqueeze(1)).permute(2, 0, 1)
        return self.encoder(x).transpose(0, 1), None


def main(checkpoint_path, listing):
    checkpoint = torch.load(checkpoint_path)
    model = SpeechModel(checkpoint["config"])
    model.load_state_dict(checkpoint["model"])
    model.eval()

    representations = []
    for line in open(listing):
        wave, _ = soundfile.read(line.strip())
        wave = torch.from_numpy(wave).float().unsqueeze(0)
        rep = model.extract_features(wave)[0]
        representations.append(rep)  # the leak
    torch.save(representations, "representations.pt")


if __name__ == "__main__":
    main(*sys.argv[1:])
