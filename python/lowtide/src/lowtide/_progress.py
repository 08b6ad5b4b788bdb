"""What `LowtideCallback` does at the events of either framework: marks, and a recorder where there is none."""

import os
from typing import List, Optional

from . import _scopes
from ._recorder import Recorder


class Progress:
    """Steps, epochs and phases of one training."""

    def __init__(self, record: Optional[str], limit: Optional[str], alone: bool) -> None:
        self._recorder = Recorder(record, limit)
        self._alone = alone
        #: Phases that are open, the innermost last.
        self._phases: List[str] = []

    def start(self, first: bool) -> None:
        """Training begins. `first`: whether this process is the one of its machine that starts a recorder."""
        if self._alone and first and not under_run():
            self._recorder.start()
        self.enter("train")

    def stop(self) -> None:
        """Training ended: shows the report if there is a recorder of ours."""
        self._phases.clear()
        _scopes.end("phase")
        _scopes.end("epoch")
        self._recorder.stop()

    def enter(self, phase: str) -> None:
        """A phase begins, if it is not the one that is on."""
        if self._phases[-1:] != [phase]:
            self._phases.append(phase)
            _scopes.begin("phase", phase)

    def leave(self, phase: str) -> None:
        """A phase ends, if it is the one that is on; the one around it goes on."""
        if self._phases[-1:] == [phase]:
            self._phases.pop()
            if self._phases:
                _scopes.begin("phase", self._phases[-1])
            else:
                _scopes.end("phase")


def under_run() -> bool:
    """Whether `lowtide run` started this process and watches it already."""
    return "LOWTIDE_MARKS" in os.environ or _scopes.active()
