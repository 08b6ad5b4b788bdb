"""Lets the tests import the benches' modules, which are run as scripts and form no package."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
