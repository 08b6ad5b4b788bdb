"""Real torch loops under the in-process part: what it marks, and that the run is as it would be without."""

import pytest

pytest.importorskip("torch")

from programs import begins, ends, run


def test_steps_epochs_and_phases(tmp_path):
    ring = run(
        tmp_path,
        """
for epoch in range(3):
    model.train()
    for x, y in train: step(x, y)
    model.eval()
    with torch.no_grad():
        for x, y in val: model(x)
""",
    )[0]
    assert ring["steps"] == 30
    assert begins(ring, "epoch") == [(0, 0), (1, 10), (2, 20)]
    assert begins(ring, "phase") == [
        ("train", 0),
        ("validation", 10),
        ("train", 10),
        ("validation", 20),
        ("train", 20),
        ("validation", 30),
    ]


def test_a_validation_that_is_only_a_loop(tmp_path):
    ring = run(
        tmp_path,
        """
for epoch in range(3):
    for x, y in train: step(x, y)
    with torch.no_grad():
        for x, y in val: model(x)
""",
    )[0]
    assert ring["steps"] == 30
    phases = begins(ring, "phase")
    assert [name for name, _ in phases].count("validation") == 3, phases
    assert [steps for name, steps in phases if name == "validation"] == [10, 20, 30]


@pytest.mark.parametrize("batches", [99, 1])
@pytest.mark.parametrize("before_the_step", [True, False])
def test_a_validation_inside_an_epoch_begins_none(tmp_path, batches, before_the_step):
    ring = run(
        tmp_path,
        f"""
def validate():
    model.eval()
    for i, (x, y) in enumerate(val):
        model(x)
        if i + 1 == {batches}: break
    model.train()
model.train()
for epoch in range(3):
    for i, (x, y) in enumerate(train):
        if i == 4 and {before_the_step}: validate()
        step(x, y)
        if i == 4 and not {before_the_step}: validate()
""",
    )[0]
    at = 4 if before_the_step else 5
    assert begins(ring, "epoch") == [(0, 0), (1, 10), (2, 20)]
    assert [steps for name, steps in begins(ring, "phase") if name == "validation"] == [at, at + 10, at + 20]


def test_a_validation_that_is_only_a_loop_inside_an_epoch(tmp_path):
    ring = run(
        tmp_path,
        """
for epoch in range(3):
    for i, (x, y) in enumerate(train):
        step(x, y)
        if i == 4:
            for a, b in val: model(a)
""",
    )[0]
    assert begins(ring, "epoch") == [(0, 0), (1, 10), (2, 20)]
    assert [steps for name, steps in begins(ring, "phase") if name == "validation"] == [5, 15, 25]


#: A validation that is only a loop and left by `break`, after so many batches; as `validate(val)`.
LEFT = {
    "no_grad around it": """
@torch.no_grad()
def validate(loader, most=2):
    for i, (x, y) in enumerate(loader):
        model(x)
        if i + 1 == most: break
""",
    "no_grad inside it": """
def validate(loader, most=2):
    for i, (x, y) in enumerate(loader):
        with torch.no_grad(): model(x)
        if i + 1 == most: break
""",
    "its iterator is held": """
def validate(loader, most=2):
    global held
    held = iter(loader)
    with torch.no_grad():
        for _ in range(most): model(next(held)[0])
""",
}


@pytest.mark.parametrize("how", LEFT)
@pytest.mark.parametrize("new_data", [False, True])
def test_a_validation_that_is_only_a_loop_and_left_before_its_end(tmp_path, how, new_data):
    ring = run(
        tmp_path,
        LEFT[how]
        + f"""
for epoch in range(4):
    if {new_data}:
        train, val = (DataLoader(TensorDataset(*one.dataset.tensors), batch_size=4) for one in (train, val))
    for i, (x, y) in enumerate(train):
        if i == 5: break
        step(x, y)
    validate(val)
for x, y in train: step(x, y)
""",
    )[0]
    assert ring["steps"] == 30
    assert begins(ring, "epoch") == [(0, 0), (1, 5), (2, 10), (3, 15), (4, 20)]
    assert [steps for name, steps in begins(ring, "phase") if name == "validation"] == [5, 10, 15, 20]
    # Training goes on at once; where nobody lets go of the iterator, with the next step at the latest.
    late = {0, 1} if "held" in how else {0}
    resumed = [steps for name, steps in begins(ring, "phase") if name == "train"]
    assert len(resumed) == 5 and {steps % 5 for steps in resumed} <= late, resumed
    assert ends(ring, "phase") == [5, 10, 15, 20]


@pytest.mark.parametrize("how", LEFT)
@pytest.mark.parametrize("before_the_step", [True, False])
def test_one_left_before_its_end_inside_an_epoch(tmp_path, how, before_the_step):
    ring = run(
        tmp_path,
        LEFT[how]
        + f"""
for epoch in range(3):
    for i, (x, y) in enumerate(train):
        if i == 4 and {before_the_step}: validate(val)
        step(x, y)
        if i == 4 and not {before_the_step}: validate(val)
""",
    )[0]
    assert begins(ring, "epoch") == [(0, 0), (1, 10), (2, 20)]
    at = [steps for name, steps in begins(ring, "phase") if name == "validation"]
    # What is read between a batch and its step may belong to the step, unless it is read under no_grad and let go.
    unclear = before_the_step and how != "no_grad around it"
    wanted = [] if unclear else [4, 14, 24] if before_the_step else [5, 15, 25]
    assert at == wanted


def test_batches_that_a_step_is_taken_on_are_no_validation(tmp_path):
    ring = run(
        tmp_path,
        """
replay, seeds = DataLoader(held_out, batch_size=2), DataLoader(TensorDataset(torch.randn(40, 8)), batch_size=1)
for epoch in range(2):
    for x, y in train:
        for i, (a, b) in enumerate(replay):
            loss_of(model(a), b).backward()
            if i == 2: break
        next(iter(seeds))
        step(x, y)
""",
    )[0]
    assert ring["steps"] == 20
    assert begins(ring, "phase") == [("train", 0)]
    assert begins(ring, "epoch") == [(0, 0), (1, 10)]


def test_steps_that_are_not_counted_are_steps_all_the_same(tmp_path):
    ring = run(
        tmp_path,
        """
other = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    for x, y in train: step(x, y)
    for x, y in val: step(x, y, other)
""",
        LOWTIDE_STEP="1",
    )[0]
    assert (ring["steps"], begins(ring, "phase")) == (30, [("train", 0)])


def test_an_evaluation_on_what_is_trained_on(tmp_path):
    ring = run(
        tmp_path,
        """
for epoch in range(3):
    for x, y in train: step(x, y)
    with torch.no_grad():
        for x, y in train: model(x)
""",
    )[0]
    assert begins(ring, "epoch") == [(0, 0), (1, 10), (2, 20)]
    assert [steps for name, steps in begins(ring, "phase") if name == "validation"] == [10, 20, 30]


def test_a_look_at_the_data_before_training_is_no_epoch(tmp_path):
    ring = run(
        tmp_path,
        """
x, y = next(iter(val))
for epoch in range(2):
    for x, y in train: step(x, y)
    with torch.no_grad():
        for x, y in val: model(x); break
""",
    )[0]
    assert begins(ring, "epoch") == [(0, 0), (1, 10)]
    assert [steps for name, steps in begins(ring, "phase") if name == "validation"] == [10, 20]


def test_two_loaders_side_by_side_are_one_epoch(tmp_path):
    ring = run(
        tmp_path,
        """
for epoch in range(2):
    for (x, y), _ in zip(train, DataLoader(data, batch_size=1)): step(x, y)
other = TensorDataset(torch.randn(80, 8))
for (x, y), _ in zip(train, DataLoader(other, batch_size=4)): step(x, y)
""",
    )[0]
    assert (ring["steps"], len(begins(ring, "epoch"))) == (30, 3)


def test_data_that_is_trained_on_and_evaluated_on(tmp_path):
    ring = run(
        tmp_path,
        """
again = DataLoader(data, batch_size=8)
for epoch in range(3):
    for x, y in train: model.train(); step(x, y)
    model.eval()
    for x, y in again: model(x)
""",
    )[0]
    assert [index for index, _ in begins(ring, "epoch")] == [0, 1, 2]
    assert [name for name, _ in begins(ring, "phase")] == ["train", "validation"] * 3


def test_the_user_says_it_himself(tmp_path):
    ring = run(
        tmp_path,
        """
from _lowtide import api
for epoch in range(2):
    api.begin("epoch", index=epoch + 5)
    api.begin("phase", "warm-up")
    for x, y in train: step(x, y); api.step()
    api.end("phase")
""",
    )[0]
    assert ring["steps"] == 20
    assert begins(ring, "epoch")[-2:] == [(5, 0), (6, 10)]
    assert ("warm-up", 0) in begins(ring, "phase")


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_and_children(tmp_path, method):
    rings = run(
        tmp_path,
        f"""
def child():
    for x, y in train: step(x, y)
if __name__ == "__main__":
    import torch.multiprocessing as mp
    loader = DataLoader(data, batch_size=4, num_workers=2, multiprocessing_context="{method}")
    for epoch in range(2):
        for x, y in loader: step(x, y)
    process = mp.get_context("{method}").Process(target=child)
    process.start(); process.join()
    assert process.exitcode == 0
""",
    )
    role = {"fork": "forked", "spawn": "spawned"}[method]
    assert [(ring["steps"], ring["role"]) for ring in rings if ring["steps"]] == [(20, "main"), (10, role)]


def test_what_the_run_saves_and_compiles_is_its_own(tmp_path):
    run(
        tmp_path,
        """
import io, pickle, copy, inspect, warnings
warnings.simplefilter("ignore")
for x, y in train: step(x, y)
buffer = io.BytesIO()
torch.save((model, opt.state_dict(), train), buffer)
assert b"lowtide" not in buffer.getvalue()
copy.deepcopy(opt); pickle.dumps(train)
torch.jit.script(model)(x)
torch.optim.lr_scheduler.StepLR(opt, 1).step()
assert str(inspect.signature(torch.nn.Module.train)).startswith("(self")
try:
    next(iter(DataLoader([])))
except StopIteration:
    pass
else:
    raise AssertionError("the loop's end is the loop's own")
import sys
assert not [p for p in sys.path if "lowtide" in p and "agent" in p], sys.path
""",
    )


def test_a_failure_in_here_turns_marks_off_and_nothing_else(tmp_path):
    ring = run(
        tmp_path,
        """
for x, y in train: step(x, y)
from _lowtide import hooks
hooks.training.marks.facts = None  # what is there no more cannot be asked
model.train(); model.eval(); model.train()
for x, y in train: step(x, y)
""",
    )[0]
    assert (ring["state"], ring["steps"]) == (2, 10)
    assert any(mark["kind"] == "off" and "AttributeError" in mark["text"] for mark in ring["marks"])


def test_a_full_disk_means_no_marks(tmp_path):
    assert run(tmp_path, "for x, y in train: step(x, y)", LOWTIDE_MARKS=str(tmp_path / "nowhere")) == []


def test_a_request_is_answered_at_the_next_mark_and_once(tmp_path):
    ring = run(
        tmp_path,
        """
import ctypes, glob, struct
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
libc.mallopt(-3, 1 << 25)  # M_MMAP_THRESHOLD: all of it into the heap,
libc.mallopt(-1, 1 << 30)  # M_TRIM_THRESHOLD: and there it stays.
x, y = next(iter(train))
step(x, y)
blocks = [libc.malloc(1 << 20) for _ in range(16)]
for block in blocks:
    ctypes.memset(block, 1, 1 << 20)
for block in blocks:
    libc.free(block)
path, = glob.glob(os.environ["LOWTIDE_MARKS"] + "/*.marks")
with open(path, "r+b") as file:
    file.seek(256)
    file.write(struct.pack("<QI", 7, 2))
for _ in range(3):
    time.sleep(0.03)  # longer than between two marks of steps
    step(x, y)
""",
    )[0]
    answers = [mark for mark in ring["marks"] if mark["kind"] == "answered"]
    assert [(a["number"], a["steps"]) for a in answers] == [(7, 2)]
    assert answers[0]["index"] > 8 << 20
    assert 0 < answers[0]["pause_ns"] < 60 * 10**9


def test_a_trim_waits_for_a_mark_where_the_holes_are_free_again(tmp_path):
    ring = run(
        tmp_path,
        """
import ctypes, glob, struct
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
libc.mallopt(-3, 1 << 25)  # M_MMAP_THRESHOLD: all of it into the heap,
libc.mallopt(-1, 1 << 30)  # M_TRIM_THRESHOLD: and there it stays.
x, y = next(iter(train))
step(x, y)
blocks = [libc.malloc(1 << 20) for _ in range(16)]
for block in blocks:
    ctypes.memset(block, 1, 1 << 20)
for block in blocks:
    libc.free(block)
time.sleep(0.03)
model.eval(); model.train()  # facts are taken at boundaries: so much is free
blocks = [libc.malloc(1 << 20) for _ in range(16)]
path, = glob.glob(os.environ["LOWTIDE_MARKS"] + "/*.marks")
with open(path, "r+b") as file:
    file.seek(256)
    file.write(struct.pack("<QI", 7, 2))
for _ in range(3):
    time.sleep(0.03)  # longer than between two marks of steps
    step(x, y)
for block in blocks:
    libc.free(block)
for _ in range(3):
    time.sleep(0.3)
    step(x, y)
""",
    )[0]
    answers = [mark for mark in ring["marks"] if mark["kind"] == "answered"]
    assert [(a["number"], a["steps"]) for a in answers] == [(7, 5)]
    assert answers[0]["index"] > 8 << 20
    assert 0 < answers[0]["pause_ns"] < 60 * 10**9
