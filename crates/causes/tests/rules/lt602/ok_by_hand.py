import gc

gc.disable()


def train(net, feed):
    for turn in range(100):
        for rows in feed:
            net(rows).sum().backward()
        gc.collect()
