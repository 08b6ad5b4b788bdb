# Made again in each round.
import multiprocessing
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.distributed as dist
from torch.autograd import profiler
from torch.utils.tensorboard import SummaryWriter


def groups(net, feed, ranks):
    for rows in feed:
        net(rows).sum().backward()
        pair = dist.new_group(ranks)  # LT706
        dist.all_reduce(net.weight.grad, group=pair)


def now_and_then(net, feed, ranks):
    for number, rows in enumerate(feed):
        net(rows).sum().backward()
        if number % 50 == 0:
            dist.all_reduce(net.weight, group=dist.new_group(ranks))  # LT706


def copy_over(rows):
    side = torch.cuda.Stream()  # LT706
    with torch.cuda.stream(side):
        return rows.cuda(non_blocking=True)


def streams(net, feed):
    for rows in feed:
        net(copy_over(rows)).sum().backward()


def writers(net, feed, folder):
    for turn in range(300):
        board = SummaryWriter(folder)  # LT706
        for rows in feed:
            loss = net(rows).sum()
            loss.backward()
            board.add_scalar("loss", loss.item(), turn)


def profiled(net, feed):
    for rows in feed:
        with profiler.profile(use_cuda=True):  # LT706
            net(rows).sum().backward()


def pools(net, feed, decode):
    for paths in feed:
        helpers = ThreadPoolExecutor(8)  # LT706
        net(torch.stack(list(helpers.map(decode, paths)))).sum().backward()


class Sender:
    def __init__(self):
        self.lines = []

    def send(self, value):
        thread = threading.Thread(target=print, args=(value,))
        thread.start()
        self.lines.append(thread)  # LT706


def sending(net, feed):
    sender = Sender()
    for rows in feed:
        loss = net(rows).sum()
        loss.backward()
        sender.send(loss.item())


def piped(net, feed):
    ends = []
    for rows in feed:
        reader, writer = os.pipe()
        ends.append((reader, writer))  # LT706
        net(rows).sum().backward()


torch.cuda.memory._record_memory_history()  # LT706


# Harmless.


def grid(world, size):
    groups = [dist.new_group(list(range(first, first + size))) for first in range(0, world, size)]
    for first in range(0, world, size):
        groups.append(dist.new_group([first]))
    return groups


def one_of_each(net, feed, folder):
    side = torch.cuda.Stream()
    with SummaryWriter(folder) as board:
        for rows in feed:
            with torch.cuda.stream(side):
                loss = net(rows).sum()
            loss.backward()
            board.add_scalar("loss", loss.item())


def first_time(net, feed):
    side = None
    for rows in feed:
        if side is None:
            side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            net(rows).sum().backward()


def closed(net, feed, folder):
    for turn in range(300):
        board = SummaryWriter(f"{folder}/{turn}")
        for rows in feed:
            net(rows).sum().backward()
        board.close()


def with_pool(net, feed, decode):
    for paths in feed:
        with multiprocessing.Pool(4) as pool:
            rows = torch.stack(pool.map(decode, paths))
        net(rows).sum().backward()


def scheduled(net, feed):
    plan = torch.profiler.schedule(wait=1, warmup=1, active=3)
    with torch.profiler.profile(schedule=plan) as watch:
        for rows in feed:
            net(rows).sum().backward()
            watch.step()


def few(net, rows):
    for _ in range(5):
        with profiler.profile():
            net(rows).sum().backward()


class Joined:
    def __init__(self):
        self.threads = []

    def send(self, value):
        self.threads.append(threading.Thread(target=print, args=(value,)))

    def finish(self):
        while self.threads:
            self.threads.pop().join()


def joined(net, feed):
    sender = Joined()
    for rows in feed:
        net(rows).sum().backward()
        sender.send(1)
        sender.finish()
