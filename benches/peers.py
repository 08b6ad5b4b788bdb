"""A Python that has what lowtide is measured beside: a virtual environment in the cache folder, as scripts/venv.py makes one."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REQUIREMENTS = Path(__file__).with_name("requirements.txt")


def rivals_python() -> Path:
    """Its path. Made under a temporary name and renamed when it is complete; every clone finds it again."""
    key = hashlib.sha256(REQUIREMENTS.read_bytes() + sys.version.encode()).hexdigest()[:12]
    target = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lowtide" / f"bench-{key}"
    python = target / "bin" / "python"
    if python.exists():
        return python
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=target.name + ".", dir=target.parent))
    try:
        install = [str(temporary / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        for command in ([sys.executable, "-m", "venv", str(temporary)], [*install, "-r", str(REQUIREMENTS)]):
            if subprocess.run(command, stdout=sys.stderr.fileno(), check=False).returncode != 0:
                sys.exit(f"`{' '.join(command)}` failed: is python3-venv installed, and is a package index reachable?")
        if not target.exists():
            temporary.rename(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return python


def site_packages() -> str:
    """Where its packages lie, for a Python of the same version."""
    return str(next((rivals_python().parent.parent / "lib").glob("python*/site-packages")))
