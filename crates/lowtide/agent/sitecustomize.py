"""Put first on PYTHONPATH by `lowtide run`: lets the process say where it is in its training, then runs the
sitecustomize that this one shadows. Python imports it at start-up, whichever Python it is: hence the old syntax."""

import os
import sys


def _ours():
    if sys.version_info < (3, 8) or not os.environ.get("LOWTIDE_MARKS"):
        return
    try:
        from _lowtide import hooks

        hooks.install()
    except Exception:  # the run must not suffer from what watches it
        pass


def _theirs(here):
    """Runs the user's own sitecustomize, under its own name, as if ours had never been there."""
    sys.path[:] = [entry for entry in sys.path if entry != here]
    ours = sys.modules.pop("sitecustomize", None)
    try:
        __import__("sitecustomize")
    except ImportError:
        # As site.py has it: no sitecustomize is no error, an import that fails inside one is.
        error = sys.exc_info()[1]
        if getattr(error, "name", "sitecustomize") != "sitecustomize":
            raise
        if ours is not None:
            sys.modules["sitecustomize"] = ours


_ours()
# The entry of sys.path that we were found by, as it stands there.
_theirs(os.path.dirname(__file__))
