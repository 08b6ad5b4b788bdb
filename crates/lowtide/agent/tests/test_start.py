"""How the in-process part starts, and what it leaves as it was."""

import ast
import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

AGENT = Path(__file__).resolve().parents[1]
#: The Python that runs the programs, of any version; another than the one that runs the tests.
PYTHON = os.environ.get("LOWTIDE_TEST_PYTHON") or sys.executable
sys.path.append(str(AGENT))
from _lowtide import budget, facts  # noqa: E402


def python(folder: Path, program: str, *path: Path) -> subprocess.CompletedProcess:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [AGENT, *path])), "LOWTIDE_MARKS": str(folder)}
    return subprocess.run([PYTHON, "-B", "-c", program], env=env, cwd=folder, capture_output=True, text=True, check=False)


def test_the_users_sitecustomize_runs_under_its_own_name(tmp_path):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "sitecustomize.py").write_text("value = 7")
    done = python(tmp_path, "import sitecustomize, sys; print(sitecustomize.value, sitecustomize.__file__, sys.path)", theirs)
    assert done.stdout.startswith(f"7 {theirs / 'sitecustomize.py'}"), done
    assert str(AGENT) not in done.stdout


def test_an_error_in_the_users_sitecustomize_is_told_as_without_us(tmp_path):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "sitecustomize.py").write_text("import module_that_is_missing")
    done = python(tmp_path, "print('runs')", theirs)
    assert done.stdout == "runs\n" and "module_that_is_missing" in done.stderr, done


def test_a_working_folder_that_is_gone_hinders_nothing(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    child = f"import sys; print({str(AGENT)!r} not in sys.path)"
    program = f"import os, subprocess, sys; os.rmdir({str(gone)!r}); subprocess.check_call([sys.executable, '-c', {child!r}])"
    env = {**os.environ, "PYTHONPATH": str(AGENT), "LOWTIDE_MARKS": str(tmp_path)}
    done = subprocess.run([PYTHON, "-B", "-c", program], env=env, cwd=gone, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_a_program_without_torch_imports_nothing_and_marks_nothing(tmp_path):
    watched = ("torch", "mmap", "ctypes", "_lowtide.marks", "_lowtide.frameworks")
    done = python(tmp_path, f"import sys; print([m for m in {watched!r} if m in sys.modules])")
    assert (done.stdout, list(tmp_path.glob("*.marks"))) == ("[]\n", [])


class Old:
    """A glibc before 2.33: `mallinfo` in ints, that have no sign here."""

    def __init__(self, used: int):
        def mallinfo():
            return mallinfo.restype(uordblks=used, hblkhd=4096, fordblks=512)

        self.mallinfo = mallinfo


def test_the_older_mallinfo_is_believed_as_long_as_it_cannot_have_wrapped(monkeypatch):
    old = facts.heap(Old(3 << 30))
    monkeypatch.setattr(facts, "data_size", lambda: 1 << 30)
    assert old() == ((3 << 30) + 4096, 512)
    monkeypatch.setattr(facts, "data_size", lambda: 1 << 32)
    assert old() == (-1, -1)
    assert facts.heap(SimpleNamespace())() == (-1, -1)


def test_live_bytes_of_the_heap_are_those_that_were_allocated():
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
    taken = facts.heap()
    before = taken()[0]
    block = libc.malloc(64 << 20)
    grown = taken()[0] - before
    libc.free(block)
    assert abs(grown - (64 << 20)) < 1 << 20
    assert facts.data_size() > 1 << 20


def test_who_waits_in_the_middle_is_not_silent_for_long(monkeypatch):
    taking = facts.Facts()
    taking.heap = lambda: (time.sleep(0.05), (-1, -1))[1]
    now = time.monotonic()
    taking.take(False)
    assert taking.next_s - time.monotonic() < 0.05 / facts.SHARE / 2
    assert taking.due(now + 0.05 / facts.SHARE)


@pytest.mark.parametrize("path", sorted(AGENT.glob("**/_lowtide/*.py")) + [AGENT / "sitecustomize.py"], ids=lambda path: path.name)
def test_the_source_is_that_of_python_3_8(path):
    ast.parse(path.read_text(), feature_version=(3, 8))


@pytest.mark.parametrize("flag", ["-I", "-E", "-S"])
def test_where_python_does_not_read_it_nothing_happens(tmp_path, flag):
    env = {**os.environ, "PYTHONPATH": str(AGENT), "LOWTIDE_MARKS": str(tmp_path)}
    program = "import sys; print('_lowtide' in sys.modules)"
    done = subprocess.run([PYTHON, flag, "-c", program], env=env, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, list(tmp_path.iterdir())) == ("False\n", "", [])


def test_a_python_that_is_too_old_stays_as_it_is(tmp_path):
    older = f"import sys; sys.version_info = (3, 7, 9); sys.path.insert(0, {str(AGENT)!r}); import sitecustomize; "
    env = {**os.environ, "LOWTIDE_MARKS": str(tmp_path)}
    program = older + f"print('_lowtide' in sys.modules, {str(AGENT)!r} in sys.path, sys.meta_path)"
    done = subprocess.run([PYTHON, "-S", "-B", "-c", program], env=env, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("False False") and "_lowtide" not in done.stdout and done.stderr == "", done


def test_the_budget_is_kept_and_spent_in_bursts():
    looks, looking, now = budget.Budget(0.0), [], 0.0
    for _ in range(20_000):  # ten times a second, 10 ms each: without a budget 10 % of the time
        now += 0.1
        looking.append(looks.allows(now))
        if looking[-1]:
            looks.spent(0.01)
    assert 0.3 * budget.SHARE < looking.count(True) * 0.01 / now < 1.1 * budget.SHARE
    # Both ends of most of what lies between two marks.
    assert sum(a and b for a, b in zip(looking, looking[1:])) > 0.7 * looking.count(True)
