import psutil
import torch
import torchvision
from torch.autograd import profiler


def memory_line(iteration):
    return f"iteration {iteration}: {psutil.Process().memory_info().rss / 1e6:.0f} MB"


def main(iterations=10_000, batch=8):
    model = torchvision.models.alexnet(num_classes=100).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    criterion = torch.nn.CrossEntropyLoss()
    images = torch.rand(batch, 3, 224, 224).cuda()
    labels = torch.randint(0, 100, (batch,)).cuda()
    for iteration in range(iterations):
        with profiler.profile(use_cuda=True) as prof:  # the leak
            outputs = model(images)
            loss = criterion(outputs, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if iteration % 1000 == 0:
            print(memory_line(iteration))
            print(prof.key_averages().table(sort_by="cuda_time_total", row_limit=5))


if __name__ == "__main__":
    main()
