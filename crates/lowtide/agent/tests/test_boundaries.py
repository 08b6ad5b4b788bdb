"""When marks are, against what the program itself says: a boundary lies between two of its own clock readings."""

import json

import pytest

pytest.importorskip("torch")

from programs import ends, run

LOG = """
import json
said = []
def says(what): said.append((what, time.monotonic()))
import atexit
atexit.register(lambda: json.dump(said, open("said.json", "w")))
"""


def times(folder, what: str) -> list[float]:
    return [t for said, t in json.loads((folder / "said.json").read_text()) if said == what]


def marked(ring: dict, kind: str, text: str = "") -> list[float]:
    return [m["t"] for m in ring["marks"] if (m["kind"], m["scope"]) == (kind, "phase") and m["text"] == text]


def between(marks: list[float], before: list[float], after: list[float]) -> bool:
    assert len(marks) == len(before) == len(after), (marks, before, after)
    return all(a - 1e-6 <= mark <= b + 1e-6 for a, mark, b in zip(before, marks, after))


def test_train_and_eval(tmp_path):
    ring = run(
        tmp_path,
        LOG
        + """
for epoch in range(3):
    says("before train"); model.train(); says("after train")
    for x, y in train: step(x, y)
    time.sleep(0.05)
    says("before eval"); model.eval(); says("after eval")
    for x, y in val: model(x)
""",
    )[0]
    assert between(marked(ring, "begin", "train"), times(tmp_path, "before train"), times(tmp_path, "after train"))
    assert between(marked(ring, "begin", "validation"), times(tmp_path, "before eval"), times(tmp_path, "after eval"))
    assert not ends(ring, "phase")


@pytest.mark.parametrize("batches", [5, 99])
def test_what_lies_between_the_last_step_and_a_validation_that_is_only_a_loop(tmp_path, batches):
    ring = run(
        tmp_path,
        LOG
        + f"""
for epoch in range(3):
    for i, (x, y) in enumerate(train):
        if i == {batches}: break
        last = time.monotonic(); step(x, y)
        stepped = time.monotonic()
    said += [("before step", last), ("after step", stepped)]
    says("loop over")
    between = [bytes(1000) for _ in range(20_000)]
    says("before validation")
    with torch.no_grad():
        for j, (x, y) in enumerate(val):
            if j == 0: says("after validation")
    says("over")
""",
    )[0]
    steps = {5: 5, 99: 10}[batches]
    assert ends(ring, "phase") == [steps, 2 * steps, 3 * steps]
    # A loop that comes to its end tells when; else it was the last step.
    first, last = ("before step", "after step") if batches == 5 else ("after step", "loop over")
    assert between(marked(ring, "end"), times(tmp_path, first), times(tmp_path, last))
    assert between(marked(ring, "begin", "validation"), times(tmp_path, "before validation"), times(tmp_path, "after validation"))
    # What was taken between the two is seen between the two: 20,000 objects too large for the arenas of Python.
    phases = [m for m in ring["marks"] if m["scope"] == "phase" and (m["kind"] == "end" or m["text"] == "validation")]
    pairs = [(end["heap_used"], begin["heap_used"]) for end, begin in zip(phases[::2], phases[1::2])]
    assert all(begin > 0 for _, begin in pairs)
    if batches == 99:
        assert pairs[0][1] - pairs[0][0] > 19_000_000, pairs


@pytest.mark.parametrize("inside", [False, True])
def test_a_validation_that_is_only_a_loop_and_left_before_its_end(tmp_path, inside):
    # The train set is new each time, so that nothing but what happens tells what is what.
    ring = run(
        tmp_path,
        LOG
        + f"""
for epoch in range(4):
    train = DataLoader(TensorDataset(*data.tensors), batch_size=4)
    val = DataLoader(TensorDataset(*held_out.tensors), batch_size=4)
    says("before train" if epoch else "first")
    for x, y in train:
        said[:] = [one for one in said if one[0] != "last"]; says("last"); step(x, y)
    says("loop over")
    time.sleep(0.02)
    says("before validation")
    with torch.set_grad_enabled({inside}):
        for i, (x, y) in enumerate(val):
            if i == 0: says("first batch")
            with torch.no_grad(): model(x)
            time.sleep(0.02)
            if i == 1: says("before break"); break
    says("after break")
    time.sleep(0.02)
for x, y in train: step(x, y)
""",
    )[0]
    before, after = times(tmp_path, "before break"), times(tmp_path, "after break")
    assert between(marked(ring, "begin", "validation"), times(tmp_path, "before validation"), times(tmp_path, "first batch"))
    assert between(marked(ring, "begin", "train")[1:], before, after)
