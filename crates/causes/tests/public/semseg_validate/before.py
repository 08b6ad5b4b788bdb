import time

import numpy as np
import torch
import torch.nn.functional as F


def intersection_and_union(output, target, classes):
    intersection = output[output == target]
    area_intersection = torch.histc(intersection.float(), bins=classes, min=0, max=classes - 1)
    area_output = torch.histc(output.float(), bins=classes, min=0, max=classes - 1)
    area_target = torch.histc(target.float(), bins=classes, min=0, max=classes - 1)
    return area_intersection.cpu().numpy(), (area_output + area_target).cpu().numpy() - area_intersection.cpu().numpy()


def train(loader, model, optimizer, epoch):
    model.train()
    for step, (image, target) in enumerate(loader):
        image, target = image.cuda(non_blocking=True), target.cuda(non_blocking=True)
        loss = F.cross_entropy(model(image), target, ignore_index=255)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"epoch {epoch} step {step}: {loss.item():.4f}")


def validate(loader, model, classes):
    inter_sum, union_sum = np.zeros(classes), np.zeros(classes)
    model.eval()
    started = time.time()
    for image, target in loader:
        image = image.cuda(non_blocking=True)
        target = target.cuda(non_blocking=True)
        output = model(image)  # the leak
        output = F.interpolate(output, size=target.size()[1:], mode="bilinear", align_corners=True)
        output = output.max(1)[1]
        inter, union = intersection_and_union(output, target, classes)
        inter_sum += inter
        union_sum += union
    print(f"validated in {time.time() - started:.0f} s")
    return float(np.mean(inter_sum / (union_sum + 1e-10)))


def main(model, train_loader, val_loader, epochs):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for epoch in range(epochs):
        train(train_loader, model, optimizer, epoch)
        print(epoch, validate(val_loader, model, classes=21))
