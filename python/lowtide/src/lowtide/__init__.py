"""lowtide beside a training: says where it is, logs its memory, cleans up where that pays.

    import lowtide

    for e in lowtide.epochs(range(10)):
        with lowtide.phase("train"):
            for batch in loader:
                ...
                lowtide.step()
        with lowtide.phase("validation"):
            ...

Under `lowtide run python train.py` steps, epochs and phases are mostly known without this; outside of it these marks do
nothing. `LowtideCallback`, `LoggingCallback` and `CleanupCallback` are in `lowtide.hf` (transformers) and
`lowtide.lightning`; `lowtide.Cleanup` is for plain loops.
"""

import sys
from typing import Any

from ._cleanup import Cleanup
from ._scopes import active, begin, end, epoch, epochs, node, phase, round, rounds, step

__all__ = ["Cleanup", "active", "begin", "end", "epoch", "epochs", "node", "phase", "round", "rounds", "step"]
__version__ = "0.1.0"

_CALLBACKS = ("CleanupCallback", "LoggingCallback", "LowtideCallback")


def __getattr__(name: str) -> Any:
    """`lowtide.LowtideCallback`: that of the framework which the program has imported. Neither is imported by us."""
    if name not in _CALLBACKS:
        raise AttributeError(f"module 'lowtide' has no attribute {name!r}")
    lightning = "lightning.pytorch" in sys.modules or "pytorch_lightning" in sys.modules
    # Lightning's tools import parts of transformers, and the other way round: only what defines a Trainer counts.
    transformers = "transformers.trainer" in sys.modules
    if lightning == transformers:
        found = "both transformers and Lightning are" if lightning else "neither transformers' Trainer nor Lightning is"
        raise AttributeError(f"{found} imported; take lowtide.hf.{name} or lowtide.lightning.{name}")
    if lightning:
        from . import lightning as module
    else:
        from . import hf as module  # type: ignore[no-redef]
    return getattr(module, name)
