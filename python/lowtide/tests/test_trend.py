"""The trend of low tides."""

import random

from lowtide._trend import LowTides, growth

MIB = 1 << 20


def test_too_few_say_nothing():
    assert growth([(step, step) for step in range(7)]) is None


def test_a_leak_is_growth_at_its_rate_whatever_single_outliers_say():
    points = [(step * 10, 500 * MIB + step * MIB) for step in range(30)]
    points[3] = (30, 5000 * MIB)
    points[20] = (200, 10 * MIB)
    found = growth(points)
    assert found.grows
    assert abs(found.per_step - MIB / 10) < MIB / 100


def test_noise_and_a_shrinking_memory_are_none():
    chance = random.Random(7)
    for seed in range(50):
        noise = [(step, 500 * MIB + chance.randrange(20 * MIB)) for step in range(40)]
        assert not growth(noise).grows, seed
    assert not growth([(step, (900 - step) * MIB) for step in range(40)]).grows


def test_warm_up_is_none():
    tides = LowTides()
    for step in range(40):
        tides.add(step, min(step, 8) * 50 * MIB, sure=True)
    assert not tides.growth().grows


def test_it_stays_small_in_a_long_run():
    tides = LowTides()
    for step in range(100_000):
        tides.add(step, step * MIB, sure=step % 3 == 0)
    tides.collected(freed=0)
    assert len(tides._points) <= 129
    assert abs(tides.growth().per_step - MIB) < 1


def test_growth_that_bends_is_told():
    straight = growth([(step, step * MIB) for step in range(32)])
    bent = growth([(step, int(100 * MIB * (1 - 0.9**step))) for step in range(32)])
    assert (straight.grows, straight.slows) == (True, False)
    assert (bent.grows, bent.slows) == (True, True)


def test_what_is_not_sure_counts_from_a_full_collection_that_finds_nothing():
    tides = LowTides()
    for step in range(30):
        tides.add(step, step * MIB, sure=False)
    assert tides.growth() is None and tides.missing == 10
    assert tides.unsure and tides.suspicion()
    tides.collected(freed=2 * MIB)
    assert tides.growth().grows and not tides.suspicion()


def test_what_a_full_collection_frees_was_no_growth():
    tides = LowTides()
    for step in range(10):
        tides.add(step, 500 * MIB, sure=True)
    for step in range(10, 40):
        tides.add(step, 500 * MIB + step * MIB, sure=False)
    assert tides.suspicion()
    tides.collected(freed=20 * MIB)
    assert not tides.unsure and not tides.growth().grows
