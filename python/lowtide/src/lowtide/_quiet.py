"""A helper beside a training must not end it: what fails here is said once, and the training goes on."""

import functools
import sys
from typing import Any, Callable, Set, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

_said: Set[str] = set()


def warn(text: str) -> None:
    """One line on stderr, the same one only once per process."""
    if text not in _said:
        _said.add(text)
        show(f"lowtide: {text}")


def show(text: str) -> None:
    """A text for the user, on stderr: stdout belongs to the program."""
    try:
        print(text, file=sys.stderr, flush=True)
    except (OSError, ValueError, AttributeError):  # closed, full or missing
        pass


def quietly(method: Function) -> Function:
    """Decorates a method that a framework calls. What it raises is told once and turns the object off: `self.off`."""

    @functools.wraps(method)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        if getattr(self, "off", False):
            return None
        try:
            return method(self, *args, **kwargs)
        except Exception as error:
            self.off = True
            warn(f"{type(self).__name__} stopped, the training goes on: {type(error).__name__} in {method.__name__}: {error}")
            return None

    return wrapper  # type: ignore[return-value]
