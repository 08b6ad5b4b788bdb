#!/usr/bin/env python3
"""The zoo's healthy training run as fast as it can, so many steps: `torch_loop.py STEPS`.

Prints the seconds between the program's own marks, start-up left out, and its processor seconds, start-up included.
"""

import json
import runpy
import sys
import tempfile
import time
from pathlib import Path

ZOO = Path(__file__).resolve().parent.parent / "zoo"
sys.path.insert(0, str(ZOO))

with tempfile.NamedTemporaryFile("r") as log:
    sys.argv = ["38_healthy.py", "--pace", "0", "--seconds", "3600", "--steps", sys.argv[1], "--truth", log.name]
    runpy.run_path(str(ZOO / "38_healthy.py"), run_name="__main__")
    marks = {entry["ev"]: entry["t"] for entry in map(json.loads, log)}
print(f"{marks['end'] - marks['ready']} {time.process_time()}")
