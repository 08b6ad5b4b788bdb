"""The statistics of the benches, and the processes that they watch."""

import math
import os
from pathlib import Path

import pytest
from answer import mean_interval, middle_and_spread
from processes import cpu_seconds, family, status_bytes


def test_interval_of_few_values_is_wide():
    mean, half = mean_interval([1.0, 2.0, 3.0])
    assert mean == 2.0
    assert half == pytest.approx(4.30 / math.sqrt(3))
    assert mean_interval([1.0])[1] == math.inf
    assert mean_interval([1.0, 2.0] * 20)[1] < 0.2


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
