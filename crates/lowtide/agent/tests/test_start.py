"""How the in-process part starts, and what it leaves as it was."""

import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

AGENT = Path(__file__).resolve().parents[1]
sys.path.append(str(AGENT))
from _lowtide import facts  # noqa: E402


def python(folder: Path, program: str, *path: Path) -> subprocess.CompletedProcess:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [AGENT, *path])), "LOWTIDE_MARKS": str(folder)}
    return subprocess.run([sys.executable, "-B", "-c", program], env=env, cwd=folder, capture_output=True, text=True, check=False)


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
    done = subprocess.run([sys.executable, "-B", "-c", program], env=env, cwd=gone, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_a_program_without_torch_imports_nothing_and_marks_nothing(tmp_path):
    watched = ("torch", "mmap", "ctypes", "_lowtide.marks", "_lowtide.frameworks")
    done = python(tmp_path, f"import sys; print([m for m in {watched!r} if m in sys.modules])")
    assert (done.stdout, list(tmp_path.glob("*.marks"))) == ("[]\n", [])


class Old:
    """A glibc before 2.33: `mallinfo` in ints, that have no sign here."""

    def __init__(self, used: int):
        def mallinfo():
            return facts.MallInfo(uordblks=used, hblkhd=4096, fordblks=512)

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
