"""Writes `leak.tfevents` and `none.tfevents`: a small program that really allocates, and logs to TensorBoard.

    python generate.py leak FOLDER      # needs tensorboardX and psutil

`leak` keeps 1 MiB every other step of 0.18 s.
"""

import os
import random
import sys
import time

import psutil
from tensorboardX import SummaryWriter

writer = SummaryWriter(sys.argv[2])
process = psutil.Process()
kept = []
for step in range(400):
    block = bytearray(os.urandom(1024)) * 1024
    if sys.argv[1] == "leak" and step % 2 == 0:
        kept.append(block)
    time.sleep(0.18)
    writer.add_scalar("train/loss", random.random(), step)
    writer.add_scalar("system/rss_mb", process.memory_info().rss / 2**20, step)
    writer.add_scalar("system/ram_percent", psutil.virtual_memory().percent, step)
writer.close()
