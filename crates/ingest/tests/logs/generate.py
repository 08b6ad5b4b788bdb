"""Writes the logs of this folder: small programs that really allocate, and say so in the ways that real ones do.

    python generate.py KIND leak|none|cache|spikes SECONDS > KIND-leak.log

KIND: tqdm (needs tqdm), logging, loguru (needs loguru), pmem, system, svmem, json, plain, peak, metrics (whose file is called
metrics-leak.csv: the form of Lightning's CSVLogger). All need psutil.
`leak` keeps 2 MiB every other step of 0.12 s, `cache` the first 40 of them, `spikes` 180 MiB now and then.
"""

import json
import logging
import os
import random
import resource
import sys
import time

import psutil

KIND, WHAT, SECONDS = sys.argv[1], sys.argv[2], float(sys.argv[3])
STEP_S = 0.12
PROCESS = psutil.Process()
BEGAN = time.time()
kept = []


def work(step):
    block = bytearray(os.urandom(1024)) * 2048
    if (WHAT == "leak" and step % 2 == 0) or (WHAT == "cache" and len(kept) < 40):
        kept.append(block)
    elif WHAT == "spikes" and step % 60 > 50:
        kept.append(bytearray(20 << 20))
    elif WHAT == "spikes" and step % 60 == 0:
        kept.clear()
    time.sleep(STEP_S)


def rss():
    return PROCESS.memory_info().rss


def every_fifth():
    step = 0
    while time.time() - BEGAN < SECONDS:
        step += 1
        work(step)
        if step % 5 == 0:
            yield step, random.random()


def with_tqdm():
    from tqdm import tqdm

    steps = int(SECONDS / STEP_S / 3)
    for epoch in range(3):
        bar = tqdm(range(steps), desc=f"Epoch {epoch + 1}", mininterval=1)
        for step in bar:
            work(step + epoch * steps)
            bar.set_postfix(loss=random.random(), ram=f"{rss() / 1024**3:.2f}G", refresh=False)


def say(text):
    print(text, flush=True)


if KIND == "tqdm":
    with_tqdm()
elif KIND == "logging":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s - %(name)s - %(levelname)s - %(message)s")
    for step, loss in every_fifth():
        logging.getLogger("train").info("epoch %d step %d | loss %.4f | RSS: %.1f MB", step // 100, step, loss, rss() / 1e6)
elif KIND == "loguru":
    from loguru import logger

    for step, _ in every_fifth():
        logger.info(f"step {step}: RAM used {rss() / 1024**3:.1f} GB")
elif KIND == "pmem":
    for step, _ in every_fifth():
        say(f"step {step} {PROCESS.memory_info()}")
elif KIND == "system":
    for step, loss in every_fifth():
        all_of_it = psutil.virtual_memory()
        used, total = all_of_it.used / 1024**3, all_of_it.total / 1024**3
        say(f"[step {step}] loss={loss:.3f} RAM: {used:.1f}/{total:.1f} GB ({all_of_it.percent}%)")
elif KIND == "svmem":
    for _ in every_fifth():
        say(f"{time.strftime('[%H:%M:%S]')} {psutil.virtual_memory()}")
elif KIND == "json":
    for step, loss in every_fifth():
        say(json.dumps({"ts": time.time(), "step": step, "loss": loss, "mem": {"rss_mb": rss() / 2**20}}))
elif KIND == "plain":
    for step, loss in every_fifth():
        say(f"iter {step}: loss {loss:.3f}, Memory usage: {rss() / 2**20:.2f} MiB")
elif KIND == "peak":
    for step, loss in every_fifth():
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        say(f"Epoch: [0]  [{step:4d}/5000]  eta: 0:01:00  lr: 0.01  loss: {loss:.4f}  time: 0.12  data: 0.001  max mem: {peak}")
elif KIND == "metrics":
    say("epoch,rss_mb,step,train_loss,val_loss")
    for step, loss in every_fifth():
        say(f"{step // 100},{rss() / 2**20},{step},{loss},")
else:
    sys.exit(__doc__)
