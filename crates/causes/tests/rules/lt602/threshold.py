from gc import set_threshold


def main(net, feed):
    set_threshold(0)  # LT602
    for rows in feed:
        net(rows).sum().backward()
