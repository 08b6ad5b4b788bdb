"""The statistics of the benches, and the processes that they watch."""

import os
from pathlib import Path

from answer import middle_and_spread
from pairs import change, in_turns, ranks
from processes import cpu_seconds, family, status_bytes


def test_pairs_take_turns():
    calls = []
    pairs = in_turns(lambda: calls.append("-") or 1.0, lambda: calls.append("+") or 2.0, 3)
    assert "".join(calls) == "-" + "-+" + "+-" + "-+"
    assert pairs == [(1.0, 2.0)] * 3


def test_one_disturbed_pair_changes_little():
    noise = [0.01, -0.01, 0.02, -0.02, 0.0, 0.01, -0.01, 0.0, 0.02, -0.02]
    found = change([(1.0, 1.1 + n) for n in noise[:-1]] + [(1.0, 9.0)])
    assert 0.09 < found.middle < 0.12 and found.low > 0.05 and found.high < 0.2
    assert found.told() and found.at_most(0.2) and found.at_most(0.05) is False and found.at_most(0.1) is None
    assert not change([(1.0, 1.0 + n) for n in noise]).told()


def test_ranks_hold_the_median():
    # The tables of the sign test: 6 values, all of them; 10, all but the outermost; 20, from the sixth on.
    assert [ranks(count) for count in (6, 10, 20)] == [(0, 5), (1, 8), (5, 14)]
    assert ranks(5)[0] == -1 and change([(1.0, 1.0)] * 5).at_most(0.5) is None


def test_middle_and_spread():
    assert middle_and_spread([3.0, 1.0, 2.0], 1) == "2.0 (1.0 to 3.0)"
    assert middle_and_spread([]) == ""


def test_a_family_is_there_and_goes():
    with family(3, 4) as pid:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        assert len(children) == 2
        assert all(status_bytes(int(child), "RssAnon") >= 4 << 20 for child in children)
    assert not os.path.exists(f"/proc/{pid}")


def test_cpu_seconds_grow_with_work():
    before = cpu_seconds(os.getpid())
    sum(range(10**6))
    assert cpu_seconds(os.getpid()) > before
