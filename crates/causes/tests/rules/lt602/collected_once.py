import gc


class Trainer:
    def __init__(self):
        gc.collect()
        gc.disable()  # LT602

    def run(self, net, feed):
        for rows in feed:
            net(rows).sum().backward()


if __name__ == "__main__":
    Trainer().run(None, [])
