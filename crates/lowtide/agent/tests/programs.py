"""Real torch programs under the in-process part, for the tests."""

import os
import subprocess
import sys
from pathlib import Path

import reader

AGENT = Path(__file__).resolve().parents[1]
#: The Python with a torch that runs the programs; another than the one that runs the tests, which need not have pytest.
PYTHON = os.environ.get("LOWTIDE_TEST_PYTHON") or sys.executable

START = """
import torch, os, time
from torch.utils.data import DataLoader, TensorDataset
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 2))
data, held_out = (TensorDataset(torch.randn(n, 8), torch.randint(0, 2, (n,))) for n in (40, 16))
train, val = DataLoader(data, batch_size=4), DataLoader(held_out, batch_size=4)
loss_of = torch.nn.functional.cross_entropy
opt = torch.optim.Adam(model.parameters())
def step(x, y, opt=opt):
    opt.zero_grad()
    loss_of(model(x), y).backward()
    opt.step()
"""


def run(folder: Path, program: str, start: str = START, **environment: str) -> list[dict]:
    """Runs a program with the in-process part; gives the rings of its processes, the one with most steps first."""
    marks = folder / "marks"
    marks.mkdir()
    script = folder / "program.py"
    script.write_text(start + program)
    env = {**os.environ, "PYTHONPATH": str(AGENT), "LOWTIDE_MARKS": str(marks), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    done = subprocess.run([PYTHON, str(script)], env=env, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return sorted(reader.rings(marks), key=lambda ring: -ring["steps"])


def begins(ring: dict, scope: str) -> list[tuple]:
    return [(m["text"] or m["index"], m["steps"]) for m in ring["marks"] if m["kind"] == "begin" and m["scope"] == scope]


def ends(ring: dict, scope: str) -> list[int]:
    return [m["steps"] for m in ring["marks"] if m["kind"] == "end" and m["scope"] == scope]
