"""Snapshots of PyTorch's allocator that the recorder asks for: with every version's way to switch history on, and without harm."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import reader

AGENT = Path(__file__).resolve().parents[1]
#: The Python that runs the programs, of any version; another than the one that runs the tests.
PYTHON = os.environ.get("LOWTIDE_TEST_PYTHON") or sys.executable

#: A `torch` that notes what is asked of it. A request is left in the ring as the recorder does.
START = """
import glob, json, mmap, os, struct, sys, types
os.environ["LOWTIDE_GPU_HISTORY"] = "1"
from _lowtide import api, history
calls = []
def record_1_13(enabled, device=None): calls.append([enabled])
def record_2_0(enabled, record_context=True, trace_alloc_max_entries=1, trace_alloc_record_context=False, device=None,
               _enable_expensive_cpp=False): calls.append([enabled, trace_alloc_max_entries])
def record_2_1(enabled="all", context="all", stacks="all", max_entries=sys.maxsize, device=None):
    calls.append([enabled, context, stacks, max_entries])
def record_2_15(enabled="all", *args, **kwargs):
    assert enabled is None or isinstance(enabled, str)
    record_2_1(enabled, *args, **kwargs)
memory = types.SimpleNamespace(_snapshot=lambda: {"segments": [], "device_traces": [[]]})
cuda = types.SimpleNamespace(is_initialized=lambda: True, device_count=lambda: 1, memory=memory, current_device=lambda: 0,
                             memory_stats_as_nested_dict=lambda device: STATS)
STATS = {}
torch = sys.modules["torch"] = types.SimpleNamespace(cuda=cuda, _C=types.SimpleNamespace(_cuda_isHistoryEnabled=lambda: False))
def step():
    # Marks of steps are 20 ms apart at least.
    api.known().marks.last_slot_ns = 0
    api.step()
def ask(path, kind=3, most=1 << 26):
    with open(glob.glob(os.environ["LOWTIDE_MARKS"] + "/*.marks")[0], "r+b") as ring:
        ring.seek(512); ring.write(struct.pack("<Q", most) + os.path.basename(path).encode() + b"\\0")
        ring.seek(264); ring.write(struct.pack("<I", kind))
        ring.seek(256); number = struct.unpack("<Q", ring.read(8))[0] + 1
        ring.seek(256); ring.write(struct.pack("<Q", number))
FILE = os.environ["LOWTIDE_MARKS"] + "/a.pickle"
"""


def run(folder: Path, program: str) -> dict:
    """What the program did: `calls` as it printed them last, and the answers in its ring."""
    marks = folder / "marks"
    marks.mkdir()
    env = {**os.environ, "PYTHONPATH": str(AGENT), "LOWTIDE_MARKS": str(marks)}
    command = [PYTHON, "-B", "-c", START + program + "\nprint(json.dumps(calls))"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [ring] = reader.rings(marks)
    assert ring["state"] == 1, "marks are still on"
    answers = [mark for mark in ring["marks"] if mark["kind"] == "answered"]
    return {"calls": done.stdout.strip(), "answers": [(mark["index"], mark["text"]) for mark in answers], "marks": answers}


@pytest.mark.parametrize(
    ("version", "calls"),
    [
        ("2_1", '[["state", "state", "python", 1]]'),
        ("2_15", '[["state", "state", "python", 1]]'),
    ],
)
def test_history_is_switched_on_once_and_a_snapshot_is_written_at_the_end_of_a_step(tmp_path, version, calls):
    seen = run(
        tmp_path,
        f"""
memory._record_memory_history = record_{version}
api.begin("phase", "train"); step(); ask(FILE)
api.begin("phase", "validation"); assert not os.path.exists(FILE), "what a validation holds is no low tide"
step(); assert os.path.exists(FILE)
step()
""",
    )
    data = (tmp_path / "marks" / "a.pickle").read_bytes()
    assert seen["calls"] == calls
    assert pickle.loads(data) == {"segments": [], "device_traces": [[]]}
    assert seen["answers"] == [(len(data), "")] and seen["marks"][0]["pause_ns"] > 0
    assert (tmp_path / "marks" / "a.pickle").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("version", ["1_13", "2_0"])
def test_an_old_torch_is_left_alone(tmp_path, version):
    seen = run(
        tmp_path,
        f"memory._record_memory_history = record_{version}\ndel torch._C._cuda_isHistoryEnabled\nstep(); ask(FILE); step()",
    )
    assert seen["calls"] == "[]" and seen["answers"] == [(-1, "torch before 2.1 cannot record history safely")]


def test_after_two_snapshots_nothing_of_it_stays(tmp_path):
    seen = run(
        tmp_path,
        """
memory._record_memory_history = record_2_15
step(); assert memory._record_memory_history is not record_2_15
ask(FILE); step(); ask(FILE + "2"); step()
assert memory._record_memory_history is record_2_15
ask(FILE + "3"); step()
""",
    )
    assert seen["calls"] == '[["state", "state", "python", 1], [null, "all", "all", %d]]' % sys.maxsize
    assert [value > 0 for value, _ in seen["answers"]] == [True, True, False]


def test_a_recording_of_the_programs_is_noticed_by_whatever_name(tmp_path):
    seen = run(
        tmp_path,
        """
memory._record_memory_history_impl = record_2_1
memory._record_memory_history = captured = lambda *args, **kwargs: memory._record_memory_history_impl(*args, **kwargs)
step(); captured(); ask(FILE); step()
assert memory._record_memory_history is captured
""",
    )
    assert seen["answers"] == [(-1, "the program records history itself")]


def test_cuda_is_never_started_for_it(tmp_path):
    seen = run(
        tmp_path,
        """
memory._record_memory_history = record_2_15
cuda.is_initialized = lambda: False
step(); ask(FILE); step(); assert calls == []
cuda.is_initialized = lambda: True
step(); ask(FILE); step()
""",
    )
    assert seen["answers"][0] == (-1, "CUDA was not in use yet")
    assert seen["answers"][1][0] > 0 and seen["calls"].count("state") == 2


BAD = {
    "raises": ("memory._snapshot = lambda: 1 / 0", "ZeroDivisionError: division by zero"),
    "blocks": ("STATS['active'] = {'all': {'current': history.BLOCKS + 1}}", "more than 100000 blocks"),
    "bytes": ("history.BYTES = 1 << 20; memory._snapshot = lambda: [b'x' * (1 << 21)]", "OSError: larger than 1 MiB"),
    "many": ("memory._snapshot = lambda: ['x%09d' % n for n in range(1 << 19)]; history.BYTES = 1 << 22", "OSError: larger than 4 MiB"),
    "told": ("memory._snapshot = lambda: [b'x' * (3 << 20)]; ask = lambda file, ask=ask: ask(file, most=2 << 20)", "OSError: larger than 2 MiB"),
    "no memory": ("ask = lambda file, ask=ask: ask(file, most=0)", "no memory to spare"),
    "full": ("os.statvfs = lambda folder: types.SimpleNamespace(f_bavail=1023, f_frsize=4096)", None),
    "late": ("write = os.write\ndef full(file, data): raise OSError(28, 'No space left on device')\nos.write = full",
             "OSError: [Errno 28] No space left on device"),
    "no pickle": ("memory._snapshot = lambda: [lambda: 0]", None),
    "there": ("open(FILE, 'w').write('the user\\'s')", None),
    "no folder": ("api.known().marks.ring.folder = '/nonexistent'", None),
    "backend": ("cuda.get_allocator_backend = lambda: 'cudaMallocAsync'", "not torch's own allocator"),
    "gone": ("del memory._snapshot", None),
    "own": ("memory._record_memory_history('all')", "the program records history itself"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_goes_wrong_is_told_and_leaves_nothing_behind(tmp_path, name):
    what, why = BAD[name]
    seen = run(tmp_path, f"memory._record_memory_history = record_2_15\nstep()\n{what}\nask(FILE); step(); step()")
    [(value, text)] = seen["answers"]
    assert value == -1 and text and (why is None or text == why)
    left = tmp_path / "marks" / "a.pickle"
    assert left.read_text() == "the user's" if name == "there" else not left.exists()


def test_a_program_that_records_history_itself_keeps_its_settings(tmp_path):
    seen = run(
        tmp_path,
        """
memory._record_memory_history = record_2_15
torch._C._cuda_isHistoryEnabled = lambda: True
step(); ask(FILE); step()
""",
    )
    assert seen["calls"] == "[]" and seen["answers"] == [(-1, "the program records history itself")]


def test_history_that_cannot_be_switched_on_is_told_when_it_is_asked_for(tmp_path):
    seen = run(tmp_path, "step(); ask(FILE); step()")
    [(value, text)] = seen["answers"]
    assert value == -1 and text.startswith("AttributeError: ")


def test_half_a_file_is_none(tmp_path, monkeypatch):
    sys.path.append(str(AGENT))
    from _lowtide import history

    def full(file, data, write=os.write):
        if len(data) < 1000:
            raise OSError(28, "No space left on device")
        return write(file, data[: len(data) // 2])

    monkeypatch.setattr(history.os, "write", full)
    with pytest.raises(OSError, match="No space"):
        history.write(str(tmp_path / "a"), lambda: b"x" * 4000, 1 << 20)
    assert not (tmp_path / "a").exists()


def test_what_nobody_fetches_gives_its_memory_back(tmp_path):
    seen = run(
        tmp_path,
        """
memory._record_memory_history = record_2_15
step(); ask(FILE); step(); ask(FILE + "2"); step(); step()
assert os.path.exists(FILE) and os.path.exists(FILE + "2"), "the recorder may be slow"
os.unlink(FILE); step()
assert [path for path, _ in history.written] == [FILE + "2"], "that one was fetched"
history.FETCHED_S = 0; step()
assert not os.path.exists(FILE + "2") and history.written == []
step()
""",
    )
    assert [value > 0 for value, _ in seen["answers"]] == [True, True]
