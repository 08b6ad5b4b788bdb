"""What `import lowtide` offers."""

import subprocess
import sys

import pytest

import lowtide


def test_it_imports_no_framework():
    program = "import sys, lowtide; print([m for m in ('torch', 'transformers', 'lightning', 'numpy') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "[]\n"


def test_callbacks_without_a_framework_say_where_they_are(monkeypatch):
    for name in ("transformers.trainer", "lightning.pytorch", "pytorch_lightning"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(AttributeError, match=r"take lowtide\.hf\.LowtideCallback or lowtide\.lightning\.LowtideCallback"):
        lowtide.LowtideCallback  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        lowtide.nonsense  # noqa: B018


@pytest.mark.parametrize(("imported", "module"), [("transformers.trainer", "hf"), ("lightning.pytorch", "lightning")])
def test_callbacks_are_those_of_the_framework_that_is_imported(imported, module):
    pytest.importorskip(
        imported, reason=f"{imported} is not installed: pip install -r scripts/requirements-frameworks.txt", exc_type=ImportError
    )
    program = f"import {imported}, lowtide; print(lowtide.LowtideCallback.__module__)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout == f"lowtide.{module}\n", done.stderr
