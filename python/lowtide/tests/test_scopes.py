"""Marks, with and without the in-process part."""

import asyncio
import timeit

import pytest

import lowtide
from lowtide import _scopes


class Recorded:
    """In place of the in-process part."""

    def __init__(self):
        self.calls = []

    def active(self):
        return True

    def begin(self, scope, name="", index=None):
        self.calls.append(("begin", scope, name, index))

    def end(self, scope):
        self.calls.append(("end", scope))

    def step(self, *loss):
        self.calls.append(("step", *loss))


@pytest.fixture
def api(monkeypatch):
    recorded = Recorded()
    monkeypatch.setattr(_scopes, "_api", recorded)
    monkeypatch.setattr(_scopes, "_numbers", {})
    monkeypatch.setattr(_scopes, "_on", {})
    return recorded


def test_all_scopes_and_steps(api):
    with lowtide.round(), lowtide.node("hospital"):
        for e in lowtide.epochs(range(2)):
            with lowtide.phase("train"):
                lowtide.step()
    assert lowtide.active()
    assert api.calls == [
        ("begin", "round", "", 0),
        ("begin", "node", "hospital", None),
        ("begin", "epoch", "", 0),
        ("begin", "phase", "train", None),
        ("step",),
        ("end", "phase"),
        ("end", "epoch"),
        ("begin", "epoch", "", 1),
        ("begin", "phase", "train", None),
        ("step",),
        ("end", "phase"),
        ("end", "epoch"),
        ("end", "node"),
        ("end", "round"),
    ]


def test_an_inner_phase_interrupts_the_outer(api):
    with lowtide.phase("train"), lowtide.phase("checkpoint"):
        pass
    names = [call[2] if call[0] == "begin" else "-" for call in api.calls]
    assert names == ["train", "checkpoint", "train", "-"]


def test_epochs_are_counted_anew_in_each_round(api):
    for _ in lowtide.rounds("ab"):
        for _ in range(2):
            with lowtide.epoch():
                pass
    assert [call[3] for call in api.calls if call[:2] == ("begin", "epoch")] == [0, 1, 0, 1]


def test_a_step_that_raises_is_none(api):
    with pytest.raises(KeyError), lowtide.step:
        raise KeyError
    with lowtide.step:
        pass
    assert api.calls == [("step",)]


def test_a_step_may_say_its_loss(api):
    lowtide.step(loss=0.5)
    assert api.calls == [("step", 0.5)]


def test_decorators_wrap_the_whole_call(api):
    @lowtide.phase("validation")
    def validate():
        return len(api.calls)

    @lowtide.phase("generate")
    def generate():
        yield len(api.calls)

    @lowtide.phase("fetch")
    async def fetch():
        return len(api.calls)

    @lowtide.step
    def one():
        return len(api.calls)

    assert validate() == 1
    assert list(generate()) == [3]
    assert asyncio.run(fetch()) == 5
    assert one() == 6
    assert [call[0] for call in api.calls] == ["begin", "end"] * 3 + ["step"]


def test_a_failing_in_process_part_is_left_alone(api, capsys, monkeypatch):
    monkeypatch.setattr(api, "begin", lambda *args: 1 / 0)
    with lowtide.phase("train"):
        lowtide.step()
    assert api.calls == []
    assert "no more marks" in capsys.readouterr().err
    assert not lowtide.active()


def test_without_a_recorder_nothing_happens_and_costs_little():
    assert not lowtide.active()

    def body():
        with lowtide.phase("train"):
            lowtide.step()

    # Two marks, so goal 2 µs; ten times that before this fails, since other programs run beside it.
    assert min(timeit.repeat(body, number=1000, repeat=5)) / 1000 < 20e-6


class Rude:
    """A value that nothing can be done with."""

    def __str__(self):
        raise RuntimeError("no")

    __index__ = __hash__ = __str__


@pytest.mark.parametrize("odd", [Rude(), [], -5, 2**70, 1.5, "x", None, float("nan"), b"\xff"])
def test_odd_values_are_left_out_and_raise_nothing(api, odd):
    with lowtide.epoch(odd), lowtide.round(odd), lowtide.phase(odd), lowtide.node(odd):
        lowtide.step()
    lowtide.begin(odd)
    lowtide.end(odd)
    lowtide.begin("phase", odd, odd)
    assert lowtide.active()
    assert api.calls[:2] == [("begin", "epoch", "", 0), ("begin", "round", "", 0)]
    for _, *values in api.calls:
        assert all(value is None or isinstance(value, (str, int)) for value in values)
