#!/usr/bin/env python3
"""The demo's training loop in plain Python, as many steps as asked for and as fast as it can: `plain_loop.py STEPS`.

Prints the seconds of the loop and its processor seconds.
"""

import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "crates/lowtide/demo"))
from train_plain import BATCH, Trainer, rows  # noqa: E402  it is no package

rng = random.Random(5)
trainer = Trainer(rng)
start, cpu = time.monotonic(), time.process_time()
for _ in range(int(sys.argv[1])):
    trainer.step(rows(rng, BATCH))
print(f"{time.monotonic() - start} {time.process_time() - cpu}")
