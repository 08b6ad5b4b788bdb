"""What the tests of both frameworks share: a stand-in for the in-process part."""

from lowtide import _scopes


class Marks:
    """Marks as one line each: `epoch 0`, `phase train`, `step`."""

    def __init__(self, monkeypatch):
        self.lines = []
        monkeypatch.setattr(_scopes, "_api", self)
        monkeypatch.setattr(_scopes, "_numbers", {})
        monkeypatch.setattr(_scopes, "_on", {})

    def active(self):
        return True

    def begin(self, scope, name="", index=None):
        self.lines.append(f"{scope} {name if index is None else index}")

    def end(self, scope):
        self.lines.append(f"{scope} ends")

    def step(self):
        self.lines.append("step")
