"""The recorder beside a process that was not started by `lowtide run`: `lowtide attach` on ourselves."""

import atexit
import ctypes
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from typing import IO, List, Optional, Union

from ._quiet import quietly, show, warn

#: prctl(2): who may look into this process although the Yama module restricts that to its parents.
_PR_SET_PTRACER = 0x59616D61
#: The recorder writes its report within this time, or is left to itself: seconds.
_PATIENCE = 60


def program() -> Optional[str]:
    """The program `lowtide`: on PATH, or where the package's wheel puts it."""
    found = shutil.which("lowtide")
    if found is not None:
        return found
    for folder in (sysconfig.get_path("scripts"), os.path.dirname(sys.executable)):
        path = os.path.join(folder, "lowtide")
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    return None


class Recorder:
    """Watches this process from beside, and shows its report when stopped, or when this process dies."""

    def __init__(self, record: Optional[str] = None, limit: Optional[str] = None) -> None:
        self.off = False
        self._record, self._limit = record, limit
        self._child: Optional[subprocess.Popen[bytes]] = None
        self._owner = 0
        self._text: Optional[IO[bytes]] = None

    @quietly
    def start(self) -> None:
        """Starts it, if there is one."""
        if self._child is not None:
            return
        lowtide = program()
        if lowtide is None:
            warn("no recorder: the program `lowtide` is neither on PATH nor beside this package; the training goes on unwatched")
            return
        command: List[str] = [lowtide, "attach", str(os.getpid())]
        command += ["--record", self._record] if self._record else []
        command += ["--for", self._limit] if self._limit else []
        # Its report goes where our stderr goes, even if we are killed; in a notebook, stderr is no file.
        output: Union[int, IO[bytes], None] = _stderr()
        if output is None:
            output = self._text = tempfile.TemporaryFile()  # noqa: SIM115  closed by stop()
        self._owner = os.getpid()
        # A session of its own: Ctrl-C at the terminal is for the training.
        self._child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True, close_fds=True
        )
        _allow(self._child.pid)
        atexit.register(self.stop)

    @property
    def running(self) -> bool:
        """Whether it watches."""
        return self._child is not None and self._owner == os.getpid() and self._child.poll() is None

    @quietly
    def stop(self) -> None:
        """Has it write its report, and waits for that."""
        child = self._child
        if child is None or self._owner != os.getpid():
            return
        self._child = None
        atexit.unregister(self.stop)
        child.terminate()
        try:
            child.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            warn(f"the recorder (pid {child.pid}) did not end within {_PATIENCE} s and is left to itself")
        _allow(0)
        if self._text is not None:
            self._text.seek(0)
            show(self._text.read(1 << 20).decode("utf-8", "replace").rstrip())
            self._text.close()


def _allow(pid: int) -> None:
    """Lets `pid` look into this process; where Yama is not in force this fails, and is not needed."""
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PTRACER, ctypes.c_ulong(pid), 0, 0, 0)
    except (OSError, AttributeError):
        pass


def _stderr() -> Optional[int]:
    """Our stderr as a file that a child can have, or None."""
    try:
        return sys.stderr.fileno()
    except (OSError, ValueError, AttributeError):
        return None
