"""Where marks are learned: torch's optimizers, modules and loaders, once the run imports them. Imports none of them."""

import os
import sys
from _thread import _local  # `threading` takes longer to import than all of this
from time import monotonic_ns

#: A DataLoader's worker can be asked for something after so long, and so often.
SETTLED_NS, ASK_NS = 3_000_000_000, 50_000_000

training = None
_made = {}
_depth = _local()


def wraps(function):
    """functools.wraps, which takes its time to import, when it is needed."""
    import functools

    return functools.wraps(function)


def install():
    """Waits for the modules that are of interest, or takes them where they are imported already."""
    waiting = dict(PATCHES)
    for name in PATCHES:
        module = sys.modules.get(name)
        if module is not None:
            waiting.pop(name)(module)
    if waiting:
        sys.meta_path.insert(0, Finder(waiting))


def state():
    """What is known of the training; made when torch is imported, so that other programs never pay for it."""
    global training
    if training is None:
        from .marks import Marks
        from .steps import Steps
        from .training import Training

        steps = Steps()
        # One, whichever thread is first.
        training = _made.setdefault("training", Training(Marks(os.environ["LOWTIDE_MARKS"], steps.words), steps))
    return training


class Finder:
    """Finds nothing: lets the others find, and patches a module once it is executed."""

    def __init__(self, waiting):
        self.waiting = waiting

    def find_spec(self, name, path=None, target=None):
        patch = self.waiting.pop(name, None)
        if patch is None:
            return None
        if not self.waiting and self in sys.meta_path:
            sys.meta_path.remove(self)
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find is not None and finder is not self else None
            if spec is not None:
                then(spec.loader, patch)
                return spec
        return None


def then(loader, patch):
    """Has `patch` called with the module after the loader executed it."""
    execute = getattr(loader, "exec_module", None)
    if execute is None:
        return

    def exec_module(module):
        execute(module)
        guarded(patch, module)

    try:
        loader.exec_module = exec_module
    except AttributeError:  # a loader with slots: then it stays unmarked
        pass


def guarded(function, *args):
    """Calls a hook; its failure turns all hooks off and is nobody else's business."""
    try:
        if training is None or not training.marks.dead:
            return function(*args)
    except Exception as error:
        if training is not None:
            training.marks.off(error)
    return None


def outermost(name):
    """Decorator's decorator: `after` runs after the outermost call of `function` in this thread."""

    def wrap(function, after):
        @wraps(function)
        def wrapper(self, *args, **kwargs):
            depth = getattr(_depth, name, 0)
            setattr(_depth, name, depth + 1)
            try:
                result = function(self, *args, **kwargs)
            finally:
                setattr(_depth, name, depth)
            if depth == 0:
                guarded(after, self, args, kwargs)
            return result

        return wrapper

    return wrap


def patch_optimizer(module):
    known = state()
    register = getattr(module, "register_optimizer_step_post_hook", None)
    if register is not None:
        register(after_step(known))
    wrap, initialise = outermost("step"), module.Optimizer.__init__

    @wraps(initialise)
    def __init__(self, *args, **kwargs):
        initialise(self, *args, **kwargs)
        known.optimizers = True
        if register is None:
            guarded(wrap_step, type(self))

    def wrap_step(kind):
        # torch before 2: every class's own step, once, when its first instance is made.
        if "_lowtide_step" not in kind.__dict__:
            kind.step = wrap(kind.step, lambda self, args, kwargs: known.stepped(self))
            kind._lowtide_step = True

    module.Optimizer.__init__ = __init__


def after_step(known):
    """The hook that torch 2 calls after every step: written out, since most of what marks cost a run is this."""
    marks, stepped = known.marks, known.stepped

    def after(optimizer, args, kwargs):
        try:
            if not marks.dead:
                stepped(optimizer)
        except Exception as error:
            marks.off(error)

    return after


def patch_module(module):
    known = state()

    def switched(self, args, kwargs):
        known.switched(self, bool(args[0] if args else kwargs.get("mode", True)))

    module.Module.train = outermost("train")(module.Module.train, switched)


def patch_loader(module):
    known = state()
    loader, iterator = module.DataLoader, module._BaseDataLoaderIter
    begin, following = loader.__iter__, iterator.__next__

    def let_go(iteration, guarded=guarded):  # as a default: at the end of Python a module's names are gone
        guarded(known.let_go, iteration)

    @wraps(begin)
    def __iter__(self):
        iteration = guarded(known.iterates, self)
        result = begin(self)
        try:
            result._lowtide = iteration
        except AttributeError:  # an iterator of a subclass, with slots
            return result
        if iteration is not None:
            guarded(known.reads, result, iteration, let_go)
        return result

    @wraps(following)
    def __next__(self):
        iteration = getattr(self, "_lowtide", None)
        if iteration is not None:
            guarded(known.fetches, iteration)
        try:
            return following(self)
        except StopIteration:
            if iteration is not None:
                guarded(known.exhausted, iteration)
            raise

    loader.__iter__ = __iter__
    iterator.__next__ = __next__
    # `next` is an older name of it.
    if getattr(iterator, "next", None) is following:
        iterator.next = __next__


def patch_fetcher(module):
    """A DataLoader's worker makes no marks; between two batches it holds nothing that a copy of it would miss."""
    marks = state().marks
    for name in ("_MapDatasetFetcher", "_IterableDatasetFetcher"):
        fetcher = getattr(module, name)
        fetcher.fetch = before_batch(fetcher.fetch, marks)


def before_batch(fetch, marks):
    #: The process that fetches, and from when on it is asked: which worker lives for a moment only needs no ring. And not for
    #: each of many small batches.
    process, next_ns = 0, 0

    @wraps(fetch)
    def wrapper(self, *args, **kwargs):
        nonlocal process, next_ns
        now = monotonic_ns()
        if now >= next_ns:
            pid, workers = os.getpid(), sys.modules.get("torch.utils.data._utils.worker")
            if getattr(workers, "_worker_info", None) is None:
                next_ns = now + SETTLED_NS  # the loading process itself: its marks ask for it
            elif pid != process:
                process, next_ns = pid, now + SETTLED_NS
            else:
                next_ns = now + ASK_NS
                marks.listens()
        return fetch(self, *args, **kwargs)

    return wrapper


def framework(name):
    """The patch of a framework's module, in a file that only those read who use one."""

    def patch(module):
        from . import frameworks

        getattr(frameworks, name)(module, state())

    return patch


PATCHES = {
    "torch.optim.optimizer": patch_optimizer,
    "torch.nn.modules.module": patch_module,
    "torch.utils.data.dataloader": patch_loader,
    "torch.utils.data._utils.fetch": patch_fetcher,
    "transformers.trainer": framework("trainer"),
    "transformers.trainer_callback": framework("callbacks"),
}
for _package in ("lightning.pytorch", "pytorch_lightning"):
    PATCHES[_package + ".loops.evaluation_loop"] = framework("evaluation")
    PATCHES[_package + ".loops.prediction_loop"] = framework("prediction")
    PATCHES[_package + ".loops.fit_loop"] = framework("fit")
    PATCHES[_package + ".trainer.trainer"] = framework("saving")
