"""The truth files are what the programs say, and truth logs are read as written."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from judge import CLASSES, KINDS, ROLES
from truth import LIVE_SECONDS, load_truth, parse_log, parse_truth

ZOO = Path(__file__).resolve().parent.parent
PROGRAMS = sorted(path.stem for path in ZOO.glob("[0-9][0-9]_*.py"))


def test_toml_files_are_up_to_date():
    done = subprocess.run([sys.executable, str(ZOO / "mktoml.py"), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_truth_has_words_that_the_judge_knows(name):
    truth = load_truth(ZOO, name)
    assert truth.problem == "leak" if truth.leak else truth.problem in CLASSES
    assert not truth.leak or truth.kind in KINDS
    assert truth.process == "none:/dev/shm" or truth.process.partition("[")[0] in ROLES


def test_values_are_read_as_toml_has_them():
    text = 'name = "x"\nleak = true\nproblem = "leak"\nkind = "k"\nprocess = "main"\nplanted = "a = b"\nserver = true\n'
    truth = parse_truth(text)
    assert (truth.leak, truth.server, truth.live_seconds) == (True, True, LIVE_SECONDS)
    assert truth.leaks("leak") and not truth.leaks("fixed")


def test_log_gives_cycles_and_drops_a_last_one_cut_short():
    lines = [{"t": t, "ev": "epoch", "pid": 7} for t in (10.0, 14.0, 18.0)] + [{"t": 19.0, "ev": "end", "pid": 7}]
    log = parse_log("\n".join(map(json.dumps, lines)) + '\n{"t": 19.1, "ev": "epo')
    assert log.trainer == 7
    assert log.cycles() == [(10.0, 14.0), (14.0, 18.0)]


def test_the_worker_that_keeps_most_is_the_leaking_one():
    notes = [(5, 100), (6, 0), (8, 300), (5, 200)]
    log = parse_log(
        "\n".join(json.dumps({"t": 1, "ev": "retained", "role": "worker", "pid": p, "retained": r}) for p, r in notes)
    )
    assert log.leaking_worker() == 8
    assert parse_log("").leaking_worker() is None


def test_steps_of_training_are_known_at_any_time():
    train = {"phase": "train"}
    events = [(10, "epoch", {}), (10, "phase_begin", train | {"step": 0}), (20, "phase_end", train | {"step": 20})]
    # Steps of the validation are counted by the program, and are none of training.
    events += [(24, "phase_begin", train | {"step": 25}), (34, "phase_end", train | {"step": 45, "retained": 9})]
    log = parse_log("\n".join(json.dumps({"t": t, "ev": ev, "pid": 7, **more}) for t, ev, more in events))
    assert [log.trained_by(t) for t in (9, 15, 22, 29, 40)] == [0, 10, 20, 30, 40]
    assert log.kept == [(34, 9)]
