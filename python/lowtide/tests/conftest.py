"""The package as it lies in the checkout, for the tests and for the processes that they start."""

import os
import pathlib
import sys

source = str(pathlib.Path(__file__).parent.parent / "src")
sys.path.insert(0, source)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH")]))
# The tests are about programs outside `lowtide run`, unless they say otherwise.
os.environ.pop("LOWTIDE_MARKS", None)
