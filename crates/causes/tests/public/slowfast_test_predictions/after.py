import torch
from torch import nn


@torch.no_grad()
def eval_epoch(loader, model, epoch, log):
    model.eval()
    right = seen = 0
    for clips, labels in loader:
        clips = [clip.cuda(non_blocking=True) for clip in clips]
        labels = labels.cuda(non_blocking=True)
        preds = model(clips)
        right += (preds.argmax(dim=1) == labels).sum().item()
        seen += len(labels)
    log(epoch, right / max(seen, 1))


def train_epoch(loader, model, optimizer):
    model.train()
    criterion = nn.CrossEntropyLoss(reduction="mean")
    for clips, labels in loader:
        clips = [clip.cuda(non_blocking=True) for clip in clips]
        loss = criterion(model(clips), labels.cuda(non_blocking=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def train(cfg, model, train_loader, val_loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg["lr"], momentum=0.9)
    for epoch in range(cfg["epochs"]):
        train_epoch(train_loader, model, optimizer)
        if epoch % cfg["eval_period"] == 0:
            eval_epoch(val_loader, model, epoch, print)
