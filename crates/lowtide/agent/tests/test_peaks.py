"""A copy near the peak of a phase: when a backward pass begins that needs much, and between two batches."""

import pytest

pytest.importorskip("torch")

from programs import run

ASKS = """
import glob, socket, struct
from _lowtide import requests
requests.PASSES_S = 0
folder = os.environ["LOWTIDE_MARKS"]
model.train()
original = torch.autograd.backward
listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
listening.bind(folder + "/%d.snapshot" % os.getpid())
listening.listen(1)

pid = os.getpid()
def ring(): return open(glob.glob(folder + "/%d-*.marks" % pid)[0], "r+b", buffering=0)

def ask(kind, number=1):
    # As the recorder does: the number last.
    with ring() as file:
        file.seek(264); file.write(struct.pack("<I", kind))
        file.seek(256); file.write(struct.pack("<Q", number))

def answered():
    with ring() as file:
        file.seek(272)
        return struct.unpack("<Qq", file.read(16))

def train_on(rows, wanted=False):
    time.sleep(0.025)  # a mark of a step is made every 20 ms at most
    opt.zero_grad()
    loss = loss_of(model(torch.zeros(rows, 8)), torch.zeros(rows, dtype=torch.long))
    before = answered()[0]
    loss.backward()
    assert (answered()[0] > before) == wanted, (rows, answered())
    opt.step()
"""


def test_a_large_backward_pass_is_met_as_it_begins_and_nothing_stays(tmp_path):
    rings = run(
        tmp_path,
        ASKS
        + """
train_on(4)
ask(4)
train_on(4)  # at the end of it the request is found
assert torch.autograd.backward is not original
for rows in (4, 500_000, 4, 4): train_on(rows)
assert answered()[0] == 0
train_on(500_000, wanted=True)
assert torch.autograd.backward is original and answered()[1] > 0
listening.accept()[0].close()
train_on(4)
""",
    )
    answers = [mark for mark in rings[0]["marks"] if mark["kind"] == "answered"]
    assert len(answers) == 1 and answers[0]["scope"] == 1 and rings[0]["steps"] == 8


def test_where_no_large_pass_comes_it_is_given_up_and_nothing_stays(tmp_path):
    run(
        tmp_path,
        ASKS
        + """
requests.GIVEN_UP_S = 0.2
train_on(4)
ask(4)
train_on(4)
assert torch.autograd.backward is not original
time.sleep(0.3)
train_on(4)
assert torch.autograd.backward is original and answered() == (1, -1)
""",
    )


def test_what_was_asked_for_since_replaces_it(tmp_path):
    run(
        tmp_path,
        ASKS
        + """
train_on(4)
ask(4)
train_on(4)
ask(1, 2)
for _ in range(6): train_on(4)
assert answered() == (2, answered()[1]) and answered()[1] > 0
listening.accept()[0].close()
for _ in range(6): train_on(4)
assert answered()[0] == 2
""",
    )


def test_a_forked_child_answers_nothing_for_its_parent(tmp_path):
    rings = run(
        tmp_path,
        ASKS
        + """
train_on(4)
ask(4)
train_on(4)
child = os.fork()
if not child:
    for _ in range(6): loss_of(model(torch.zeros(4, 8)), torch.zeros(4, dtype=torch.long)).backward()
    os._exit(0 if answered()[0] == 0 else 1)
assert os.waitpid(child, 0)[1] == 0
""",
    )
    assert not [mark for mark in rings[0]["marks"] if mark["kind"] == "answered"]


def test_between_two_batches_of_a_validation_it_answers(tmp_path):
    run(
        tmp_path,
        ASKS
        + """
train_on(4)
model.eval()
with torch.no_grad():
    for number, (x, y) in enumerate(val):
        model(x)
        if number == 0: ask(1)
        assert (answered()[0] == 1) == (number > 0)
assert answered()[1] > 0
""",
    )
