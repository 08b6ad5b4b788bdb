"""The count of objects, and the largest tensors."""

import pytest

from lowtide._objects import Census


class Thing:
    def __init__(self):
        self.me = self


class Meta(type):
    @property
    def __module__(cls):
        raise RuntimeError("asked")


class Hostile(metaclass=Meta):
    """Raises whatever it is asked."""

    @property
    def __class__(self):
        raise RuntimeError("asked")

    def __getattr__(self, name):
        raise RuntimeError("asked")


def test_what_grew_comes_first():
    census = Census()
    census.take()
    kept = [Thing() for _ in range(1234)]
    found = census.take()
    name, more, count = found.grown[0]
    assert (name.rpartition(".")[2], more, count) == ("Thing", 1234, 1234)
    assert "Thing" in found.text() and found.as_metrics()[f"lowtide/objects/{name}"] == len(kept)


def test_hostile_objects_are_not_asked():
    hostile = [Hostile() for _ in range(50)]
    hostile.append(hostile)
    census = Census()
    assert census.take().total > 50


def test_the_largest_tensors_each_storage_once():
    torch = pytest.importorskip("torch", reason="torch is not installed")

    class Rude(torch.Tensor):
        @classmethod
        def __torch_function__(cls, *args, **kwargs):
            raise RuntimeError("asked")

    large = torch.zeros(2, 1 << 20)
    view = large[0]
    rude = torch.zeros(1 << 20).as_subclass(Rude)
    meta = torch.zeros(1 << 30, device="meta")
    first, second = Census().take().largest[:2]
    assert (first.shape, first.dtype, first.device, first.bytes) == ((2, 1 << 20), "float32", "cpu", 8 << 20)
    assert second.bytes == 4 << 20
    del view, rude, meta
