import gc

NONE = 0


def quiet():
    gc.freeze()
    gc.set_threshold(NONE, 10, 10)  # LT602


def main(net, feed):
    quiet()
    for rows in feed:
        net(rows).sum().backward()
    gc.collect()
