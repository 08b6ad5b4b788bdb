"""Each rule fires on what its author means, and stays silent where its thresholds say so."""

import pytest
from rivals import RULES, Watched, least_squares, mann_kendall, scalene_slope, stormlog, traceml_creep, watched
from samples import Tick
from truth import Log

MB = 10**6


def series(value, n=100, tree_value=None):
    root = [(float(i), float(value(i))) for i in range(n)]
    tree = [(float(i), float((tree_value or value)(i))) for i in range(n)]
    return Watched(root, tree, [(float(i), 20 * i) for i in range(n)])


def test_a_big_leak_is_found_by_all():
    leak = series(lambda i: 200 * MB + 20 * MB * i)
    assert {name: rule(leak) for name, rule in RULES.items()} == dict.fromkeys(RULES, True)


def test_a_flat_run_is_found_by_none():
    flat = series(lambda i: 200 * MB)
    assert not any(rule(flat) for rule in RULES.values())


def test_an_empty_trace_is_found_by_none():
    assert not any(rule(Watched([], [], [])) for rule in RULES.values())


@pytest.mark.parametrize(("grown", "found"), [(49, False), (51, True)])
def test_first_and_last_ten_has_its_threshold_at_50_mb(grown, found):
    step = series(lambda i: 200 * MB + (grown * MB if i >= 50 else 0))
    assert RULES["first/last ten minima (+50 MB)"](step) is found


@pytest.mark.parametrize(("start", "grown", "found"), [(200, 101, True), (200, 99, False), (2000, 150, False)])
def test_stormlog_wants_both_thresholds(start, grown, found):
    assert stormlog(series(lambda i: start * MB + grown * MB * i / 99)) is found


def test_traceml_needs_800_steps_or_a_gibibyte():
    assert traceml_creep(series(lambda i: 200 * MB + 6 * MB * i, n=100))  # 2000 steps, 594 MB
    assert not traceml_creep(series(lambda i: 200 * MB + 15 * MB * i, n=40))  # 780 steps, 585 MB
    assert not traceml_creep(series(lambda i: 200 * MB + 5 * MB * i, n=100))  # 495 MB


def test_scalene_wants_net_growth_of_a_percent_of_what_was_allocated():
    assert scalene_slope(series(lambda i: 200 * MB + (50 * MB if i % 2 else 0) + MB * i))
    assert not scalene_slope(series(lambda i: 200 * MB + (50 * MB if i % 2 else 0), n=101))


def test_mann_kendall_wants_significance():
    assert not mann_kendall(series(lambda i: 100 * MB + (i % 7) * MB, n=20))
    assert mann_kendall(series(lambda i: 100 * MB + i * MB, n=20))


def test_mprof_sees_the_started_process_only():
    wrapper = series(lambda i: 5 * MB, tree_value=lambda i: 100 * MB + i * MB)
    assert not RULES["mprof slope"](wrapper)
    assert RULES["least squares slope"](wrapper)


def test_least_squares_by_hand():
    slope, r2 = least_squares([(0, 1), (1, 3), (2, 5)])
    assert (slope, r2) == (pytest.approx(2), pytest.approx(1))


def test_the_start_up_can_be_left_out():
    row = {"depth": 0, "rss": 5}
    ticks = [Tick(float(t), {7: dict(row), 0: {}}) for t in range(10)]
    assert len(watched(ticks, Log(ready=4.0)).root) == 10
    assert len(watched(ticks, Log(ready=4.0), from_ready=True).root) == 6
