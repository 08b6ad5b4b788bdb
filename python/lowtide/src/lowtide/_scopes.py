"""Marks: where the training is. Outside `lowtide run` all of this does nothing, in well under a microsecond."""

import functools
import importlib
import inspect
import operator
import os
import sys
from types import TracebackType
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple, Type, TypeVar, overload

from ._quiet import warn

Function = TypeVar("Function", bound=Callable[..., Any])
Item = TypeVar("Item")

_SCOPES = ("round", "node", "epoch", "phase")
#: What begins anew inside: a new round counts its epochs from zero.
_INSIDE = {"round": ("node", "epoch"), "node": ("epoch",)}

#: The next number of each scope whose number is left to us.
_numbers: Dict[str, int] = {}
#: What is on: the name and number by scope.
_on: Dict[str, Tuple[str, Optional[int]]] = {}


def _in_process_part() -> Any:
    """The module that `lowtide run` puts into the run's processes, or None."""
    if "_lowtide" not in sys.modules and "LOWTIDE_MARKS" not in os.environ:
        return None
    try:
        return importlib.import_module("_lowtide.api")
    except Exception:
        return None


_api = _in_process_part()


def active() -> bool:
    """Whether marks of this process reach a recorder."""
    if _api is None:
        return False
    return bool(_tell("active"))


def _tell(function: str, *args: Any) -> Any:
    """Calls the in-process part; if that fails it is never called again."""
    global _api
    try:
        return getattr(_api, function)(*args)
    except Exception as error:
        _api = None
        warn(f"no more marks from this process: {type(error).__name__}: {error}")
        return None


def begin(scope: str, name: str = "", index: Optional[int] = None) -> None:
    """Begins a scope (`round`, `node`, `epoch` or `phase`), and ends one of its sort that is on; for callbacks, which have
    no block to wrap. What a mark cannot hold is left out of it; nothing is raised."""
    if _api is None or not _is_scope(scope):
        return
    name, index = _text(name), _number(index)
    if index is None and scope in ("round", "epoch"):
        index = _numbers.get(scope, 0)
    if index is not None:
        _numbers[scope] = index + 1
    for inner in _INSIDE.get(scope, ()):
        _numbers.pop(inner, None)
    _on[scope] = (name, index)
    _tell("begin", scope, name, index)


def end(scope: str) -> None:
    """Ends the scope of this sort."""
    if _api is not None and _is_scope(scope):
        _on.pop(scope, None)
        _tell("end", scope)


def _is_scope(scope: Any) -> bool:
    known = isinstance(scope, str) and scope in _SCOPES
    if not known:
        warn(f"no such scope: {_text(scope)[:40]!r}; there are {', '.join(_SCOPES)}")
    return known


def _text(name: Any) -> str:
    try:
        return "" if name is None else str(name)
    except Exception:
        return ""


def _number(index: Any) -> Optional[int]:
    """A number from zero; None for anything else."""
    try:
        number = operator.index(index)
    except Exception:
        return None
    return number if 0 <= number < 1 << 62 else None


class Scope:
    """A part of the training: use it in `with` or as a decorator. Where it interrupts one of its sort, that goes on later."""

    __slots__ = ("_index", "_interrupted", "_name", "_scope")

    def __init__(self, scope: str, name: str = "", index: Optional[int] = None) -> None:
        self._scope, self._name, self._index = scope, name, index
        # A list, since a decorated function may call itself.
        self._interrupted: List[Optional[Tuple[str, Optional[int]]]] = []

    def __enter__(self) -> "Scope":
        if _api is not None:
            self._interrupted.append(_on.get(self._scope))
            begin(self._scope, self._name, self._index)
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if not self._interrupted:
            return
        interrupted = self._interrupted.pop()
        if interrupted is None:
            end(self._scope)
        else:
            begin(self._scope, *interrupted)

    def __call__(self, function: Function) -> Function:
        return _inside(self, function)


def phase(name: str) -> Scope:
    """A phase: `train`, `validation`, `test`, `checkpoint`, or a name of your own. An inner one interrupts the outer."""
    return Scope("phase", _text(name))


def epoch(index: Optional[int] = None) -> Scope:
    """An epoch, by its number from zero; without one it is counted, within its round and node."""
    return Scope("epoch", "", index)


def round(index: Optional[int] = None) -> Scope:
    """A round of federated training, by its number from zero; without one it is counted."""
    return Scope("round", "", index)


def node(name: str) -> Scope:
    """A node (client, site) of federated training, within a round."""
    return Scope("node", _text(name))


def epochs(items: Iterable[Item]) -> Iterator[Item]:
    """Goes through `items` with an epoch around each: `for e in lowtide.epochs(range(10)):`."""
    return _each("epoch", items)


def rounds(items: Iterable[Item]) -> Iterator[Item]:
    """Goes through `items` with a federated round around each."""
    return _each("round", items)


def _each(scope: str, items: Iterable[Item]) -> Iterator[Item]:
    for number, item in enumerate(items):
        # `range(3, 10)` after a resumption means the epochs 3 to 9.
        index = item if isinstance(item, int) and not isinstance(item, bool) and item >= 0 else number
        with Scope(scope, "", index):
            yield item


class Step:
    """One training step: `lowtide.step()` where it ends, `with lowtide.step:` around it, or `@lowtide.step`.

    `lowtide.step(loss=0.25)` has the mean loss of each epoch in its table; give it a number that is there anyway: one that a
    tensor on a GPU holds must be waited for."""

    @overload
    def __call__(self, *, loss: Optional[float] = None) -> None: ...

    @overload
    def __call__(self, function: Function) -> Function: ...

    def __call__(self, function: Optional[Function] = None, *, loss: Optional[float] = None) -> Optional[Function]:
        if function is not None:
            return _inside(self, function)
        if _api is not None:
            _tell("step", *(() if loss is None else (loss,)))
        return None

    def __enter__(self) -> "Step":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        # A step that raised did not happen.
        if kind is None:
            self()


#: Counts a training step. From the first one on, optimizers are not counted in this process any more.
step = Step()


def _inside(context: Any, function: Function) -> Function:
    """`function` with `context` around each call; around all of a coroutine or generator, not only its making."""
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            with context:
                return await function(*args, **kwargs)

        return coroutine  # type: ignore[return-value]
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def generator(*args: Any, **kwargs: Any) -> Any:
            with context:
                return (yield from function(*args, **kwargs))

        return generator  # type: ignore[return-value]

    @functools.wraps(function)
    def plain(*args: Any, **kwargs: Any) -> Any:
        with context:
            return function(*args, **kwargs)

    return plain  # type: ignore[return-value]
