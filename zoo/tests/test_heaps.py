"""Whom `lowtide heap` accuses is held against the planted holder and line."""

from pathlib import Path

import pytest
from heaps import RIGHT, WRONG, accused, judge
from truth import Truth, load_truth

ZOO = Path(__file__).resolve().parent.parent

TRUTH = Truth("10_x", True, "leak", "host_heap", "main", holder="trainer.boxes, trainer.scores[i]", culprit=["10_x.py:47"])


def held(*names, line=47, standing="culprit"):
    path = {"text": " -> ".join(names), "steps": [{"name": name} for name in names]}
    return {"path": path, "standing": standing, "bytes": 10**6, "site": {"file": "/zoo/10_x.py", "line": line}}


def answer(*holders):
    return {"growth": {"holders": list(holders)}}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("02_node_preload", {"dev"}),
        ("05_progress_history", {"history"}),
        ("07_embed_cache_graph", {"cache"}),
        ("08_text_embed_ema", {"text_ema"}),
        ("10_val_lists", {"all_boxes", "all_scores"}),
        ("13_frame_lru", {"cache"}),
        ("15_pil_lazy", {"opened"}),
        ("28_callback_closures", {"on_epoch_end"}),
        ("40_zombie_workers", {"iterators"}),
    ],
)
def test_names_are_found_in_the_prose(name, expected):
    assert load_truth(ZOO, name).holder_names() == expected


def test_what_is_held_by_nothing_or_inside_a_library_has_no_holder_of_the_programs():
    assert not load_truth(ZOO, "33_native_malloc").is_reachable()
    assert not load_truth(ZOO, "42_recompile").is_reachable()
    assert load_truth(ZOO, "32_step_dict").is_reachable()


def test_the_planted_holder_and_line_are_right_and_others_wrong():
    assert judge(answer(held("trainer", "boxes")), TRUTH, "leak") == {"holder": RIGHT, "line": RIGHT}
    assert judge(answer(held("trainer", "boxes", line=9)), TRUTH, "leak") == {"holder": RIGHT, "line": WRONG}
    assert judge(answer(held("trainer", "boxes"), held("other")), TRUTH, "leak") == {"holder": WRONG, "line": RIGHT}
    assert judge(answer(), TRUTH, "leak") == {"holder": WRONG, "line": WRONG}


def test_nobody_is_to_be_accused_where_nothing_is_planted():
    bounded = answer(held("trainer", "boxes", standing="bounded"))
    assert accused(bounded) == []
    assert judge(bounded, TRUTH, "fixed") == {"holder": RIGHT, "line": RIGHT}
    assert judge(answer(held("trainer", "boxes")), TRUTH, "fixed") == {"holder": WRONG, "line": WRONG}
