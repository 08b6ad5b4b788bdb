# Tables of W&B.
import torch
import wandb


def rows(net, feed, loader, sgd, epochs):
    wandb.init(project="p")
    table = wandb.Table(columns=["epoch", "picture", "score"])
    for epoch in range(epochs):
        for x, y in feed:
            net(x).sum().backward()
            sgd.step()
        fresh = wandb.Table(columns=["picture", "score"])
        with torch.no_grad():
            for x, y in loader:
                for picture, score in zip(x, net(x)):
                    table.add_data(epoch, wandb.Image(picture), score.max().item())  # LT302
                    fresh.add_data(wandb.Image(picture), score.max().item())
        wandb.log({"all": table, "these": fresh})
