"""The judge says right to right answers and wrong to wrong ones."""

import pytest
from judge import judge, judge_verdict
from reference import Reference
from truth import Log, Truth

LOG = Log(trainer=7, retained_by_worker={12: 5})
FAST = Reference(1e6, "bytes", 9, 0.0)
LEAK = Truth("x", True, "leak", "host_heap", "main")


def finding(cls="leak", kind="anonymous", pid=7, role="trainer", label="trainer", rate=1e6, resource="ram", unit="bytes"):
    growth = None if rate is None else {"bytes_per_second": rate, "unit": unit}
    process = {"pid": pid, "role": role, "role_label": label}
    return {"class": cls, "kind": kind, "growth": growth, "process": process, "resource": resource}


def report(verdict="leak", *findings):
    return {"verdict": verdict, "findings": list(findings)}


def test_a_right_leak_is_right_in_all_aspects():
    j = judge(report("leak", finding()), LEAK, "leak", LOG, FAST)
    assert (j.verdict, j.cls, j.process, j.kind, j.rate) == ("right",) * 5


@pytest.mark.parametrize(
    ("change", "aspect"),
    [
        ({"cls": "spikes"}, "cls"),
        ({"kind": "shmem"}, "kind"),
        ({"pid": 8}, "process"),
        ({"role": "launcher"}, "process"),
        ({"rate": 1.2e6}, "rate"),
        ({"rate": 0.8e6}, "rate"),
    ],
)
def test_each_error_is_wrong_in_its_aspect(change, aspect):
    assert judge(report("leak", finding(**change)), LEAK, "leak", LOG, FAST).wrong() == [aspect]


def test_a_rate_within_the_tolerance_is_right():
    for rate in (0.86e6, 1.14e6):
        assert judge(report("leak", finding(rate=rate)), LEAK, "leak", LOG, FAST).rate == "right"


@pytest.mark.parametrize(
    ("said", "leaks", "due", "must_wait", "mark"),
    [
        ("leak", True, True, False, "right"),
        ("likely_leak", True, True, False, "right"),
        ("undecided", True, True, False, "wrong"),
        ("undecided", True, False, False, "open"),
        ("no_leak", True, False, False, "wrong"),
        ("leak", False, False, False, "wrong"),
        ("likely_leak", False, False, False, "wrong"),
        ("undecided", False, False, False, "open"),
        ("no_leak", False, False, False, "right"),
        ("undecided", False, False, True, "right"),
        ("no_leak", False, False, True, "wrong"),
        ("likely_leak", False, False, True, "wrong"),
    ],
)
def test_verdicts(said, leaks, due, must_wait, mark):
    assert judge_verdict(said, leaks, due, must_wait) == mark


def test_the_fixed_variant_must_not_be_called_a_leak():
    assert judge(report("leak", finding()), LEAK, "fixed", LOG, FAST).verdict == "wrong"
    assert judge(report("no_leak"), LEAK, "fixed", LOG, FAST).wrong() == []


def test_a_slow_leak_may_stay_undecided_but_not_be_denied():
    slow = Reference(1000.0, "bytes", 9, 0.0)
    assert judge(report("undecided"), LEAK, "leak", LOG, slow).verdict == "open"
    assert judge(report("no_leak"), LEAK, "leak", LOG, slow).verdict == "wrong"


def test_one_leaking_worker_must_be_the_right_one():
    truth = Truth("x", True, "leak", "python_objects", "child:dataloader_worker[1]")
    for pid, mark in ((12, "right"), (13, "wrong"), (0, "wrong")):
        said = report("leak", finding(pid=pid, role="dataloader_worker"))
        assert judge(said, truth, "leak", LOG, FAST).process == mark
    unproven = finding(pid=12, role="other", label="forked child of the trainer")
    assert judge(report("leak", unproven), truth, "leak", LOG, FAST).process == "right"


def test_the_only_trainer_may_be_named_by_its_role_alone():
    assert judge(report("leak", finding(pid=0)), LEAK, "leak", LOG, FAST).process == "right"


def test_a_trainer_outside_must_be_said_to_be_outside():
    truth = Truth("x", True, "leak", "host_heap", "outside:training")
    for label, mark in (("outside the watched tree", "right"), ("other", "wrong")):
        assert judge(report("leak", finding(role="other", label=label)), truth, "leak", LOG, FAST).process == mark


@pytest.mark.parametrize(
    ("problem", "said", "mark"),
    [
        ("spike", ["spikes"], "right"),
        ("spike", [], "wrong"),
        ("sawtooth", ["overhead", "allocator_retention"], "right"),
        ("bounded", ["spikes"], "wrong"),
        ("overhead", ["overhead"], "right"),
        ("floor", [], "right"),
        ("none", [], "right"),
    ],
)
def test_the_class_of_what_is_no_leak(problem, said, mark):
    truth = Truth("x", False, problem, "host_heap", "main")
    findings = [finding(cls=cls, rate=None) for cls in said]
    assert judge(report("no_leak", *findings), truth, "leak", LOG, None).cls == mark


def test_what_children_cost_is_found_beside_what_the_trainer_did():
    truth = Truth("x", False, "overhead", "child_process", "child:pool_worker")
    trainers = finding(cls="bounded_growth", rate=None)
    childrens = finding(cls="overhead", pid=0, role="other", label="20 x forked child of the trainer", rate=None)
    j = judge(report("no_leak", trainers, childrens), truth, "leak", LOG, None)
    assert (j.cls, j.process) == ("right", "right")
    assert judge(report("no_leak", trainers), truth, "leak", LOG, None).process == "wrong"


def test_growing_file_pages_must_be_named():
    truth = Truth("x", False, "none", "page_cache", "main")
    assert judge(report("no_leak"), truth, "leak", LOG, None).cls == "wrong"
    assert judge(report("no_leak", finding(cls="file_cache", rate=None)), truth, "leak", LOG, None).cls == "right"


def test_processes_are_found_among_several_growths():
    truth = Truth("x", True, "leak", "child_process", "child:dataloader_worker[*]")
    both = report(
        "leak", finding(kind="anonymous"), finding(kind="processes", pid=0, role="dataloader_worker", rate=0.8, unit="count")
    )
    j = judge(both, truth, "leak", LOG, Reference(0.8, "count", 9, 0.0))
    assert (j.process, j.kind, j.rate) == ("right",) * 3


@pytest.mark.parametrize(("tree", "mark"), [(1e6, "right"), (2e6, "wrong"), (None, "-")])
def test_growing_processes_may_be_told_in_bytes_of_the_tree(tree, mark):
    truth = Truth("x", True, "leak", "child_process", "child:dataloader_worker[*]")
    said = report("leak", finding(kind="processes", pid=0, role="dataloader_worker"))
    assert judge(said, truth, "leak", LOG, Reference(0.8, "count", 9, 0.0, tree)).rate == mark


def test_three_low_tides_give_no_rate_to_judge_by():
    assert judge(report("leak", finding(rate=9e9)), LEAK, "leak", LOG, Reference(1e6, "bytes", 3, 0.0)).rate == "-"


def test_steps_must_be_exact():
    log = Log(trainer=7, train_steps=40)

    def steps(count):
        return judge({**report("no_leak"), "progress": [{"pid": 7, "steps": count}]}, LEAK, "fixed", log, None).steps

    assert (steps(40), steps(39), steps(0)) == ("right", "wrong", "-")
    assert judge(report("no_leak"), LEAK, "fixed", log, None).steps == "-"


def test_a_phase_need_not_be_named_but_not_a_wrong_one():
    truth = Truth("x", True, "leak", "host_heap", "main", phase="train")

    def phase(name):
        return judge(report("leak", {**finding(), "phase": name}), truth, "leak", LOG, FAST).phase

    assert (phase("train"), phase("validation"), phase(None)) == ("right", "wrong", "-")


@pytest.mark.parametrize(
    ("pages", "live", "marks"),
    [(108, 91, ("right", "right")), (112, 89, ("wrong", "wrong")), (None, None, ("-", "-"))],
)
def test_growth_per_step_is_held_against_pages_and_what_is_kept(pages, live, marks):
    said = finding()
    said["growth"] |= {"bytes_per_step": pages, "live_bytes_per_step": live}
    ref = Reference(1e6, "bytes", 9, 0.0, per_step=100.0, kept_per_step=100.0)
    j = judge(report("leak", said), LEAK, "leak", LOG, ref)
    assert (j.per_step, j.live) == marks
    # What is kept elsewhere, by Python's own allocator say, is not in the C heap.
    objects = Truth("x", True, "leak", "python_objects", "main")
    assert judge(report("leak", said), objects, "leak", LOG, ref).live == "-"


HELD = Truth("x", True, "leak", "host_heap", "main", holder="self.boxes", culprit=["x.py:47"])


def held(name=".boxes: list", file="/a/x.py", line=47):
    path = ["frame Trainer.train() x.py:32", "self: Trainer", name]
    return {**finding(), "holder": {"path": path}, "site": {"file": file, "line": line, "text": ""}}


@pytest.mark.parametrize(
    ("named", "truth", "variant", "expected"),
    [
        ([held()], HELD, "leak", ("right", "right")),
        ([finding()], HELD, "leak", ("-", "-")),
        ([held(".others: list", line=9)], HELD, "leak", ("wrong", "wrong")),
        ([held(), held(".others: list")], HELD, "leak", ("wrong", "right")),
        ([held()], HELD, "fixed", ("wrong", "wrong")),
        ([held()], Truth("x", True, "leak", "native_malloc", "main", holder="none"), "leak", ("wrong", "wrong")),
    ],
)
def test_who_is_named_must_be_the_planted_one(named, truth, variant, expected):
    j = judge(report("leak", *named), truth, variant, LOG, FAST)
    assert (j.holder, j.line) == expected
