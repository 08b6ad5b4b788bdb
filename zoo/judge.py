"""Is a report of lowtide right about a run whose truth is known?

The table is README.md's ("Right answers"), for a run without a census; steps and phases by the marks of a live run.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from reference import Reference
from truth import Log, Truth

RIGHT, WRONG, OPEN, NONE = "right", "wrong", "open", "-"  # open: undecided where that is allowed
POSITIVE = {"leak", "likely_leak"}
RATE_TOLERANCE = 0.15
STEP_TOLERANCE = 0.10
IN_HEAP = {"host_heap", "tensor_graph", "native_malloc", "gpu_emulated"}  # what is planted is memory of the C heap

KINDS = {
    "host_heap": {"anonymous", "native_heap"},
    "python_objects": {"anonymous", "native_heap"},
    "gpu_emulated": {"anonymous", "native_heap"},
    "tensor_graph": {"anonymous", "native_heap"},
    "native_malloc": {"anonymous", "native_heap"},
    "host_shm": {"shmem"},
    "child_process": {"processes"},
    "fds_threads": {"fds", "threads"},
}
# What a look into the process tells more: of what sort the objects are.
LOOKED_INTO = {
    "host_heap": {"tensor", "python_objects", "autograd_graph"},
    "python_objects": {"tensor", "python_objects"},
    "gpu_emulated": {"tensor", "python_objects"},
    "tensor_graph": {"tensor", "autograd_graph"},
    "host_shm": {"tensor"},
}
ROLES = {
    "main": {"trainer"},
    "child:training": {"trainer"},
    "child:dataloader_worker": {"dataloader_worker"},
    "child:pool_worker": {"other", "compile_worker"},
    "outside:training": {"other"},
}
CLASSES = {
    "floor": {"overhead"},
    "spike": {"spikes"},
    "sawtooth": {"sawtooth", "bounded_growth", "allocator_retention"},
    "bounded": {"bounded_growth"},
    "overhead": {"overhead"},
    "none": {"file_cache"},
}
CHILDREN = {"overhead", "bounded_growth"}  # what may be said of children that are none too many
MAY_SAY_NOTHING = {"floor", "none"}  # problems of which a report need not speak
FORKED = "forked child of the trainer"  # as much as can be proven of a worker that shows nothing of its own


ASPECTS = ("verdict", "cls", "process", "kind", "rate", "steps", "phase", "per_step", "live", "holder", "line")


@dataclass
class Judgement:
    """Right or wrong, aspect by aspect, and what was said."""

    verdict: str = NONE
    cls: str = NONE
    process: str = NONE
    kind: str = NONE
    rate: str = NONE
    said: str = ""
    said_rate: float | None = None
    true_rate: float | None = None
    unit: str = "bytes"
    steps: str = NONE
    phase: str = NONE
    per_step: str = NONE
    live: str = NONE
    holder: str = NONE
    line: str = NONE
    said_step: float | None = None
    true_step: float | None = None
    said_live: float | None = None
    true_live: float | None = None

    def as_dict(self) -> dict:
        return asdict(self)

    def wrong(self, aspects: tuple[str, ...] = ASPECTS) -> list[str]:
        """The aspects that are wrong."""
        return [aspect for aspect in aspects if getattr(self, aspect) == WRONG]


def _mark(right: bool) -> str:
    return RIGHT if right else WRONG


def judge_verdict(said: str, leaks: bool, due: bool, must_wait: bool) -> str:
    """`due`: a leak must be found by now. `must_wait`: nobody can tell yet, so that only `undecided` is right."""
    if must_wait:
        return _mark(said == "undecided")
    if leaks:
        return RIGHT if said in POSITIVE else OPEN if said == "undecided" and not due else WRONG
    return RIGHT if said == "no_leak" else OPEN if said == "undecided" else WRONG


def judge_process(found: dict | None, resource: str, truth: Truth, log: Log) -> str:
    """Is the process named the one that does it, by role and, where the truth has just one, by pid?"""
    if truth.process == "none:/dev/shm":
        return _mark(resource == "shm")
    base, bracket, _ = truth.process.partition("[")
    if found is None or base not in ROLES:
        return _mark(base not in ROLES)
    label = found.get("role_label", "")
    role_fits = found["role"] in ROLES[base] or (base.startswith("child:") and base != "child:training" and FORKED in label)
    if base == "outside:training":
        role_fits = role_fits and "outside" in label
    if base == "child:dataloader_worker":
        one_of_several = bool(bracket) and "*" not in truth.process and truth.leak
        pid_fits = not one_of_several or found["pid"] == log.leaking_worker()
    else:
        pid_fits = found["pid"] in (0, log.trainer) or base == "child:pool_worker"  # 0: the role as a whole, here one process
    return _mark(role_fits and pid_fits)


def judge_rate(result: Judgement, growth: dict, ref: Reference) -> None:
    """Is the rate within the tolerance of the run's own, in the unit that the report chose?"""
    result.unit = growth.get("unit", "bytes")
    result.said_rate, result.true_rate = growth["bytes_per_second"], ref.rate_in(result.unit)
    if result.true_rate is not None:
        result.rate = _mark(abs(result.said_rate - result.true_rate) <= RATE_TOLERANCE * abs(result.true_rate))


def judge_growth_per_step(result: Judgement, growth: dict, truth: Truth, ref: Reference) -> None:
    """Are pages and, where what is planted lies in the trainer's C heap, live bytes per step right? By the marks."""
    result.said_step, result.true_step = growth.get("bytes_per_step"), ref.per_step
    if result.said_step is not None and result.true_step:
        result.per_step = _mark(abs(result.said_step - result.true_step) <= STEP_TOLERANCE * abs(result.true_step))
    if truth.kind in IN_HEAP and truth.process == "main":
        result.said_live, result.true_live = growth.get("live_bytes_per_step"), ref.kept_per_step
        if result.said_live is not None and result.true_live:
            result.live = _mark(abs(result.said_live - result.true_live) <= STEP_TOLERANCE * abs(result.true_live))


def judge_steps(report: dict, log: Log) -> str:
    """Are the trainer's steps counted exactly? A program that trains without an optimizer has none."""
    counted = [line["steps"] for line in report.get("progress", []) if line["pid"] == log.trainer and line["steps"]]
    return _mark(counted[0] == log.train_steps) if counted and log.train_steps is not None else NONE


def judge_phase(finding: dict | None, truth: Truth) -> str:
    """Where a phase is named, is it the one that leaks? None need be named; where both leak, none may be."""
    said = (finding or {}).get("phase")
    return NONE if said is None else _mark(said == truth.phase)


def judge_holder(result: Judgement, report: dict, truth: Truth, leaks: bool) -> None:
    """Where somebody is named who holds what grows: is it the planted one, by its name and by its line? None need be."""
    for finding in (finding for finding in report["findings"] if finding.get("holder")):
        names = {step.lstrip(".").partition(":")[0] for step in finding["holder"]["path"]}
        wanted = truth.holder_names()
        # One that ends with an underscore stands for all names that begin so: a compiler numbers its own.
        planted = leaks and any(name == want or (want.endswith("_") and name.startswith(want)) for want in wanted for name in names)
        holder, site = planted, finding.get("site")
        result.holder = WRONG if result.holder == WRONG or not holder else RIGHT
        if site is not None:
            line = leaks and f"{site['file'].rpartition('/')[2]}:{site['line']}" in truth.culprit
            result.line = WRONG if result.line == WRONG or not line else RIGHT


def _finding(report: dict, fits) -> dict | None:
    return next((finding for finding in report["findings"] if fits(finding)), None)


def judge(
    report: dict,
    truth: Truth,
    variant: str,
    log: Log,
    ref: Reference | None,
    *,
    early: bool = False,
    must_wait: bool = False,
) -> Judgement:
    """Judge a report. `early`: watching was cut short, so that no verdict is owed yet."""
    leaks = truth.leaks(variant)
    due = not early and ref is not None and ref.due()
    said = report["verdict"]
    result = Judgement(judge_verdict(said, leaks, due, must_wait), said=said, steps=judge_steps(report, log))
    judge_holder(result, report, truth, leaks)
    if leaks and said in POSITIVE:
        kinds = KINDS.get(truth.kind, set()) | LOOKED_INTO.get(truth.kind, set())
        growing = [finding for finding in report["findings"] if finding.get("growth")]
        finding = next((f for f in growing if f.get("kind") in kinds), growing[0] if growing else None)
        result.cls = _mark(finding is not None and finding["class"] in ("leak", "allocator_retention"))
        result.kind = _mark(finding is not None and finding.get("kind") in kinds)
        result.process = NONE if finding is None else judge_process(finding.get("process"), finding["resource"], truth, log)
        result.phase = judge_phase(finding, truth)
        counts_threads = finding is not None and finding.get("kind") == "threads"  # the reference counts file descriptors
        if finding is not None and ref is not None and not early and result.kind == RIGHT and not counts_threads:
            judge_rate(result, finding["growth"], ref)
            judge_growth_per_step(result, finding["growth"], truth, ref)
    elif not leaks and said == "no_leak" and variant == "leak" and not early:
        finding = _finding(report, lambda f: f["class"] in CLASSES[truth.problem])
        if finding is None and truth.kind == "child_process":
            finding = _finding(report, lambda f: f["class"] in CHILDREN)
        must_say = truth.problem not in MAY_SAY_NOTHING or truth.kind == "page_cache"
        result.cls = _mark(finding is not None or not must_say)
        if finding is not None and finding.get("process") is not None and truth.kind != "none":
            result.process = judge_process(finding["process"], finding["resource"], truth, log)
    return result
