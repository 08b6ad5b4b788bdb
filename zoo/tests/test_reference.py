"""The reference rate is the slope of the low tides of the program's own cycles."""

import pytest
from reference import DUE_BYTES_PER_SECOND, Reference, reference, theil_sen
from samples import Tick
from truth import Log, Truth

MAIN = Truth("x", True, "leak", "host_heap", "main")


def run_of(value, seconds=40, epoch=5.0, **more):
    """A trainer (pid 7) with `value(t)` bytes, sampled every half second."""
    log = Log(trainer=7, epochs=[i * epoch for i in range(int(seconds / epoch))], end=float(seconds), **more)
    rows = [(i / 2, int(value(i / 2))) for i in range(2 * seconds)]
    return log, [Tick(t, {7: {"anon": v, "rss_shmem": 0, "fds": 3}, 0: {"uss": 0}}) for t, v in rows]


def test_spikes_do_not_move_the_rate():
    log, ticks = run_of(lambda t: 1e8 + 1e6 * t + (5e8 if t % 5 >= 3 else 0))
    found = reference(MAIN, log, ticks)
    assert found.rate == pytest.approx(1e6, rel=0.01)
    assert found.spike > 4e8
    assert found.due()  # 57 MiB/min; 40 are owed under such spikes


def test_the_first_cycle_is_warm_up():
    log, ticks = run_of(lambda t: 1e8 if t >= 5 else 0)
    assert reference(MAIN, log, ticks).rate == 0


def test_too_few_cycles_give_no_rate():
    log, ticks = run_of(lambda t: t, seconds=15)
    assert reference(MAIN, log, ticks) is None


def test_what_is_due():
    assert Reference(DUE_BYTES_PER_SECOND * 1.01, "bytes", 9, 0.0).due()
    assert not Reference(DUE_BYTES_PER_SECOND * 0.99, "bytes", 9, 0.0).due()
    assert not Reference(DUE_BYTES_PER_SECOND * 7.9, "bytes", 9, 5e8).due()
    assert Reference(DUE_BYTES_PER_SECOND * 8.1, "bytes", 9, 5e8).due()
    assert Reference(0.1, "count", 9, 0.0).due()


def test_the_leaking_worker_is_followed_not_the_trainer():
    log, ticks = run_of(lambda t: 1e8, retained_by_worker={9: 10, 8: 0})
    for tick in ticks:
        tick.rows[9] = {"anon": int(2e6 * tick.t), "rss_shmem": 0}
    truth = Truth("x", True, "leak", "host_heap", "child:dataloader_worker[1]")
    assert reference(truth, log, ticks).rate == pytest.approx(2e6, rel=0.01)


def test_processes_are_counted():
    log, ticks = run_of(lambda t: 1e8)
    for tick in ticks:
        tick.rows.update({100 + i: {"anon": 0, "rss_shmem": 0} for i in range(int(tick.t / 5))})
    truth = Truth("x", True, "leak", "child_process", "child:dataloader_worker[*]")
    found = reference(truth, log, ticks)
    assert (found.unit, found.rate) == ("count", pytest.approx(0.2, rel=0.05))


def test_theil_sen_shrugs_off_an_outlier():
    assert theil_sen([(0, 0), (1, 1), (2, 2), (3, 3), (4, 90), (5, 5), (6, 6)]) == pytest.approx(1)
    assert theil_sen([(1, 1)]) == 0
