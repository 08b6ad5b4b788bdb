import os

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms


class Photos(Dataset):
    def __init__(self, root, split):
        self.root = root
        self.transform = transforms.Compose([
            transforms.RandomResizedCrop(224),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
        ])
        names, labels = [], []
        with open(os.path.join(root, f"{split}.txt")) as listing:
            for line in listing:
                name, label = line.split()
                names.append(name)
                labels.append(int(label))
        self.names = names  # the leak
        self.labels = labels  # the leak

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        path = os.path.join(self.root, self.names[index])
        with Image.open(path) as image:
            return self.transform(image.convert("RGB")), int(self.labels[index])


def train(net, root, epochs):
    loader = DataLoader(Photos(root, "train"), batch_size=256, shuffle=True, num_workers=16, pin_memory=True)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    criterion = torch.nn.CrossEntropyLoss()
    for epoch in range(epochs):
        for images, labels in loader:
            loss = criterion(net(images.cuda()), labels.cuda())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())
