"""Clean-up in plain loops, on memory that really is lost, held or free."""

import subprocess
import sys
import textwrap
import time

import pytest

import lowtide
from lowtide._memory import Memory

MIB = 1 << 20


def run(program):
    """The output of a program in a process of its own, whose heap no other test has touched."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def line(report, remedy):
    return next(one for one in report.splitlines() if one.strip().startswith(remedy))


def test_cycles_that_a_late_gc_leaves_are_freed():
    report = run(
        """
        import gc, lowtide
        gc.disable()
        cleanup = lowtide.Cleanup(every=5)
        for step in range(100):
            cycle = [bytearray(1 << 20)]
            cycle.append(cycle)
            cleanup.step()
        print(cleanup.report())
        """
    )
    assert "kept" in line(report, "gc.collect(1)")
    assert "20 times in 100 steps" in report
    assert "does not grow" in report


def test_holes_of_the_heap_are_given_back():
    report = run(
        """
        import lowtide
        cleanup, pins = lowtide.Cleanup(every=4), []
        for step in range(60):
            if step % 12 == 0:
                # Below the size from which malloc maps, with a survivor on top: free() alone gives nothing back.
                blocks = [bytes(60_000) for _ in range(400)]
                pins = [bytes(70_000)]
                del blocks
            cleanup.step()
        print(cleanup.report())
        """
    )
    assert "kept" in line(report, "malloc_trim")
    assert "dropped" in line(report, "gc.collect:")


def test_what_only_a_validation_leaves_is_worth_it():
    # One clean-up of eight finds something.
    report = run(
        """
        import lowtide
        cleanup, pins = lowtide.Cleanup(every=4), []
        for step in range(160):
            if step % 32 == 0:
                blocks = [bytes(60_000) for _ in range(400)]
                pins = [bytes(70_000)]
                del blocks
            cleanup.step()
        print(cleanup.report())
        """
    )
    assert "kept" in line(report, "malloc_trim")


def test_what_the_next_step_takes_again_is_no_gain():
    report = run(
        """
        import lowtide
        cleanup = lowtide.Cleanup(every=2)
        for step in range(40):
            blocks = [bytes(60_000) for _ in range(400)]
            pin = bytes(70_000)
            del blocks
            cleanup.step()
        print(cleanup.report())
        """
    )
    assert "that the next step took again): dropped" in line(report, "malloc_trim")


def test_a_true_leak_is_said_not_to_be_cured():
    report = run(
        """
        import lowtide
        cleanup, kept = lowtide.Cleanup(every=2), []
        for step in range(100):
            kept.append(b"x" * (1 << 20))
            cleanup.step()
        print(cleanup.report())
        """
    )
    assert "does not help against a leak: clean-ups gave back" in report
    assert "live memory grows by 1 MiB per step" in report


def test_one_that_is_masked_is_said_to_be():
    report = run(
        """
        import gc, lowtide
        gc.disable()
        cleanup, kept = lowtide.Cleanup(every=2), []
        for step in range(100):
            kept.append(b"x" * (1 << 20))
            cycle = [bytearray(1 << 20)]
            cycle.append(cycle)
            cleanup.step()
        print(cleanup.report())
        """
    )
    assert "masks a leak instead of curing it: clean-ups gave back" in report
    assert "live memory grows by 1 MiB per step" in report


class Machine:
    """A clock and a memory of its own: what a training takes, and how long a full collection lasts."""

    def __init__(self, monkeypatch, collection_s):
        self.now, self.live, self.garbage, self.collected_s = 0.0, 500 * MIB, 0, 0.0
        self.collection_s = collection_s
        monkeypatch.setattr("lowtide._cleanup.time.perf_counter", lambda: self.now)
        monkeypatch.setattr("lowtide._memory.read", lambda: Memory(0, self.live + self.garbage, 0, 0, 0, 0))
        self.cleanup = lowtide.Cleanup(every="auto")
        for remedy in self.cleanup._remedies:
            remedy._clock = lambda: self.now
            remedy._act = self.collect if remedy.name == "gc.collect" else lambda: None

    def collect(self):
        self.now += self.collection_s
        self.collected_s += self.collection_s
        self.garbage = 0

    def train(self, seconds, kept=0, garbage=0):
        until = self.now + seconds
        while self.now < until:
            self.now += 0.05
            self.live += kept
            self.garbage += garbage
            self.cleanup.step()


def test_a_true_leak_is_told_within_a_minute_though_collections_are_dear(monkeypatch):
    machine = Machine(monkeypatch, collection_s=0.15)
    machine.train(40, kept=MIB // 10)
    assert "does not help against a leak" in machine.cleanup.verdict()
    assert machine.collected_s < 0.05 * machine.now


def test_garbage_that_a_full_collection_frees_is_no_leak(monkeypatch):
    machine = Machine(monkeypatch, collection_s=0.15)
    machine.train(120, garbage=MIB // 10)
    assert "does not grow" in machine.cleanup.verdict()
    # Nor does it look like one where garbage begins late, when full collections were given up.
    machine = Machine(monkeypatch, collection_s=0.15)
    machine.train(30)
    machine.train(60, garbage=MIB // 10)
    assert "does not grow" in machine.cleanup.verdict()


def test_it_stays_within_its_share_in_the_end(monkeypatch):
    machine = Machine(monkeypatch, collection_s=0.15)
    machine.train(40)
    assert "does not grow" in machine.cleanup.verdict()
    machine.train(600)
    assert machine.collected_s < 0.01 * machine.now


def test_gradients_are_released():
    class Optimizer:
        def __init__(self):
            self.asked = []

        def zero_grad(self, set_to_none):
            self.asked.append(set_to_none)

    optimizer = Optimizer()
    cleanup = lowtide.Cleanup(every=1, optimizers=[optimizer])
    cleanup.step()
    assert optimizer.asked == [True]


def test_a_remedy_that_fails_is_dropped_and_said():
    class Optimizer:
        def zero_grad(self):
            raise AssertionError

    cleanup = lowtide.Cleanup(every=1, optimizers=[Optimizer()])
    for _ in range(3):
        cleanup.step()
    assert "failed and was dropped: TypeError" in line(cleanup.report(), "zero_grad")
    assert "tried 3 times" in line(cleanup.report(), "gc.collect:")


def test_auto_keeps_within_its_share_and_still_begins():
    cleanup = lowtide.Cleanup(every="auto")
    for _ in range(2000):
        cleanup.step()
    # 2000 empty steps take next to no time: nothing is tried twice before 1 % of it has paid for that.
    elapsed = time.perf_counter() - cleanup._start_s
    assert cleanup._cleanups >= 1
    tried = [remedy for remedy in cleanup._remedies if remedy.tries]
    assert {remedy.name for remedy in tried} >= {"gc.collect", "malloc_trim"}
    # Twice the share, since a try may take longer than the one before.
    assert all(remedy.tries == 1 or remedy.spent_s <= 0.02 * elapsed for remedy in tried)


@pytest.mark.parametrize("every", [0, -1, "often", True])
def test_a_wrong_interval_is_refused_with_the_mend(every):
    with pytest.raises(ValueError, match="a number of steps, 1 or more, or 'auto'"):
        lowtide.Cleanup(every=every)


def test_a_gpus_cache_is_emptied_and_counted(monkeypatch):
    class Gpus:
        """In place of torch.cuda: each step the cache is 64 MiB larger than what is in use."""

        reserved = 64 * MIB

        def device_count(self):
            return 1

        def memory_allocated(self, device):
            return 0

        def memory_reserved(self, device):
            return self.reserved

        def empty_cache(self):
            self.reserved = 0

    gpus = Gpus()
    monkeypatch.setattr("lowtide._memory.initialised_cuda", lambda: gpus)
    cleanup = lowtide.Cleanup(every=1)
    for step in range(8):
        # Not at every step, or it would be no gain.
        if step % 2 == 0:
            gpus.reserved = 64 * MIB
        cleanup.step()
    report = line(cleanup.report(), "torch.cuda.empty_cache")
    assert "gave the GPU back 32 MiB each: kept" in report
