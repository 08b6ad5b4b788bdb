import gc

gc.disable()  # LT602


def train(net, feed):
    for rows in feed:
        net(rows).sum().backward()
