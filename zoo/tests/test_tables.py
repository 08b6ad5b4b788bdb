"""Counts, and the sections of BENCHMARKS.md."""

from tables import markdown, per_minute, precision_recall, replace_section


def test_precision_and_recall():
    pairs = [(True, True)] * 3 + [(True, False)] + [(False, True)] * 2 + [(False, False)] * 5
    counts = precision_recall(pairs)
    assert (counts["precision"], counts["recall"], counts["false_alarms"], counts["missed"]) == (0.6, 0.75, 2, 1)
    assert precision_recall([(False, False)])["precision"] is None


def test_a_section_is_replaced_and_the_others_stay():
    text = replace_section(replace_section("# B\n", "a", "A", "one"), "b", "B", "two")
    again = replace_section(text, "a", "A", "three")
    assert "one" not in again and "three" in again and "two" in again
    assert again.index("three") < again.index("two")
    assert replace_section(again, "a", "A", "three") == again


def test_markdown_leaves_unknowns_empty():
    assert markdown(["a", "b"], [[1, None]]).splitlines()[-1] == "| 1 |  |"


def test_rates():
    assert per_minute(2**20) == "+60.0 MiB"
    assert per_minute(0.5, "count") == "+30.0"
    assert per_minute(None) is None
