#? run: module:train.py run .history@lib/python3.11/site-packages/wandx/run.py:Run = list
#? closed: module:train.py board .queue@lib/python3.11/site-packages/board/__init__.py:Writer = list
#? unknown: instance:lib/python3.11/site-packages/other/__init__.py:Thing .items = list
import board as b
import wandx

run = wandx.init()
board = b.Writer("out")
thing = b.Thing()
for step in range(10):
    run.log({"loss": step})
    board.add_scalar("loss", step)  # <- closed
    board.flush()
    thing.size()
# file: lib/python3.11/site-packages/wandx/run.py
class Run:
    def __init__(self):
        self.history = []

    def log(self, data):
        self._write(data)

    def _write(self, data):
        self.history.append(data)  # <- run
