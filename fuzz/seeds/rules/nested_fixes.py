import torch

net = torch.nn.Linear(2, 2)
kept, sums = [], {}
total = 0
for x in loader:
    loss = net(x).sum()
    loss.backward()
    kept.append((loss, {"a": loss * 2, "b": [loss if x else -loss]}))
    sums[x] = total = total + (loss + loss)  # ü
