"""What counts as a step, in real torch loops."""

import pytest

pytest.importorskip("torch")

from programs import START, begins, run


@pytest.mark.parametrize(
    ("choice", "steps"), [("first", 10), ("any", 15), ("1", 10), ("2", 5), ("dataloader", 10), ("nonsense", 10)]
)
def test_the_user_chooses_what_a_step_is(tmp_path, choice, steps):
    ring = run(
        tmp_path,
        """
other = torch.nn.Linear(8, 2)
second = torch.optim.SGD(other.parameters(), lr=0.1)
model.train()
for i, (x, y) in enumerate(train):
    step(x, y)
    if i % 2: second.step()
model.eval()
for x, y in val: model(x)
""",
        LOWTIDE_STEP=choice,
    )[0]
    assert ring["steps"] == steps
    if choice != "2":  # whose model is another one
        assert begins(ring, "phase")[-1] == ("validation", steps)
    assert len(begins(ring, "epoch")) == 1


def test_another_optimizer_a_teacher_and_a_scaler_do_not_confuse_it(tmp_path):
    ring = run(
        tmp_path,
        """
other, teacher = torch.nn.Linear(8, 2), torch.nn.Linear(8, 2)
second = torch.optim.SGD(other.parameters(), lr=0.1)
teacher.eval()
model.train()
for epoch in range(2):
    for x, y in train:
        step(x, y)
        other.zero_grad(); loss_of(other(x), y).backward(); second.step()
        teacher.eval()
""",
    )[0]
    assert ring["steps"] == 20
    assert begins(ring, "phase") == [("train", 0)]


def test_a_new_optimizer_takes_over_and_none_of_its_steps_is_lost(tmp_path):
    ring = run(
        tmp_path,
        """
kept = []
for node in range(3):
    opt = torch.optim.Adam(model.parameters())
    kept.append(opt)  # as a cycle that is not collected yet
    for x, y in train: step(x, y, opt)
""",
    )[0]
    assert ring["steps"] == 30
    assert [index for index, _ in begins(ring, "epoch")] == [0, 1, 2]


def test_accumulated_gradients_and_closures_are_one_step(tmp_path):
    ring = run(
        tmp_path,
        """
for i, (x, y) in enumerate(train):
    loss_of(model(x), y).backward()
    if i % 2: opt.step(); opt.zero_grad()
lbfgs = torch.optim.LBFGS(model.parameters(), max_iter=3)
del opt
""",
    )[0]
    assert ring["steps"] == 5
    ring = run(
        tmp_path / "closure" if (tmp_path / "closure").mkdir() is None else tmp_path,
        """
lbfgs = torch.optim.LBFGS(model.parameters(), max_iter=3)
def closure():
    lbfgs.zero_grad()
    loss = loss_of(model(x), y)
    loss.backward()
    return loss
for x, y in train: lbfgs.step(closure)
""",
    )[0]
    assert ring["steps"] == 10


@pytest.mark.parametrize(("mode", "steps"), [("train()", 40), ("loops", 30), ("eval()", 30)])
def test_without_an_optimizer_of_torch_batches_are_the_steps(tmp_path, mode, steps):
    ring = run(
        tmp_path,
        f"""
def own_step(x, y):
    loss_of(model(x), y).backward()
    with torch.no_grad():
        for p in model.parameters(): p -= 0.1 * p.grad; p.grad = None
for epoch in range(4):
    if {mode!r} == "train()": model.train()
    for x, y in train: own_step(x, y)
    if {mode!r} == "eval()": model.eval()
    with torch.no_grad():
        for x, y in val: model(x)
    if {mode!r} == "eval()": model.train()
""",
        START.partition("opt =")[0],
    )[0]
    # Without train() data has to come twice before it is trained on.
    assert ring["steps"] == steps
    assert "no torch optimizer" in ring["counts"]
    assert [at for name, at in begins(ring, "phase") if name == "validation"][-2:] == [steps - 10, steps]


def test_a_look_at_the_data_before_training_is_none(tmp_path):
    ring = run(
        tmp_path,
        """
for epoch in range(3):
    for x, y in train: x.mean()
for x, y in train: step(x, y)
""",
    )[0]
    assert (ring["steps"], begins(ring, "epoch")) == (10, [(0, 0)])


def test_an_unknown_choice_is_told(tmp_path):
    assert "LOWTIDE_STEP=batch is unknown" in run(tmp_path, "for x, y in train: step(x, y)", LOWTIDE_STEP="batch")[0]["counts"]


def test_steps_of_several_threads_are_all_counted(tmp_path):
    ring = run(
        tmp_path,
        """
import sys, threading
sys.setswitchinterval(1e-6)
def train_one(x=torch.randn(4, 8), y=torch.randint(0, 2, (4,))):
    inner = torch.nn.Linear(8, 2)
    mine = torch.optim.SGD(inner.parameters(), lr=0.1)
    for _ in range(200):
        mine.zero_grad(); loss_of(inner(x), y).backward(); mine.step()
threads = [threading.Thread(target=train_one) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
""",
        LOWTIDE_STEP="any",
    )[0]
    assert ring["steps"] == 800
