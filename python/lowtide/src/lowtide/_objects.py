"""What Python holds: objects by type, and the largest tensors. Looks at foreign objects without asking them anything that
could run their code, and guards what it must ask."""

import gc
import sys
from collections import Counter
from typing import Any, Dict, List, NamedTuple, Optional, Set, Tuple

from ._memory import size

#: Rows of each table.
TOP = 10


class Tensor(NamedTuple):
    """A tensor that is alive."""

    shape: Tuple[int, ...]
    dtype: str
    device: str
    #: Of its storage, which views share: bytes.
    bytes: int


class Objects(NamedTuple):
    """What was alive at one moment."""

    #: How many objects gc tracks: containers, instances, functions; not numbers and strings.
    total: int
    #: By type, those that became more since the first look: (type, how many more, how many).
    grown: List[Tuple[str, int, int]]
    #: The largest first, each storage once. Gradients that no Python variable refers to are not seen.
    largest: List[Tensor]

    def text(self) -> str:
        """Tables for people."""
        lines = [f"objects that gc tracks: {self.total}"]
        lines += [f"  {more:+10d}  of {count:8d}  {name}" for name, more, count in self.grown]
        if self.largest:
            lines.append("largest tensors:")
        lines += [f"  {size(one.bytes):>10}  {one.dtype:<8} {one.device:<7} {list(one.shape)}" for one in self.largest]
        return "\n".join(lines)

    def as_metrics(self) -> Dict[str, float]:
        """For a logger of experiments, which takes numbers only."""
        metrics = {f"lowtide/objects/{name}": float(count) for name, _, count in self.grown}
        metrics["lowtide/gc_objects"] = float(self.total)
        if self.largest:
            metrics["lowtide/largest_tensor_mib"] = round(self.largest[0].bytes / (1 << 20), 3)
        return metrics


class Census:
    """Counts objects, and compares with its first count."""

    def __init__(self) -> None:
        self._first: Optional[Dict[str, int]] = None

    def take(self) -> Objects:
        """Some 50 ms per million objects; the objects are referred to only meanwhile."""
        objects = gc.get_objects()
        kinds = Counter(map(type, objects))
        counts: Dict[str, int] = {}
        for kind, count in kinds.items():
            name = _name(kind)
            counts[name] = counts.get(name, 0) + count
        tensors = _tensor_types(kinds)
        largest = _largest([one for one in objects if type(one) in tensors]) if tensors else []
        del objects
        if self._first is None:
            self._first = counts
        growth = {name: count - self._first.get(name, 0) for name, count in counts.items()}
        names = sorted((name for name in growth if growth[name] > 0), key=lambda name: (-growth[name], name))
        return Objects(sum(counts.values()), [(name, growth[name], counts[name]) for name in names[:TOP]], largest)


def _name(kind: type) -> str:
    """`module.Class`. A metaclass may answer anything, or raise."""
    try:
        module, name = kind.__module__, kind.__qualname__
        if isinstance(module, str) and isinstance(name, str):
            return name if module == "builtins" else f"{module}.{name}"[:120]
    except Exception:
        pass
    return "(a type without a name)"


def _tensor_types(kinds: "Counter[type]") -> Set[type]:
    """Which of these types are tensors; a FakeTensor of torch.compile holds no memory."""
    base = getattr(sys.modules.get("torch"), "Tensor", None)
    if not isinstance(base, type):
        return set()
    return {kind for kind in kinds if base in type.mro(kind) and kind.__name__ != "FakeTensor"}


def _largest(tensors: List[Any]) -> List[Tensor]:
    """The largest storages among them."""
    found: Dict[Any, Tensor] = {}
    with _plain():
        for tensor in tensors:
            try:
                if tensor.device.type == "meta":
                    continue
                if hasattr(tensor, "untyped_storage"):
                    storage = tensor.untyped_storage()
                    key, amount = storage.data_ptr(), storage.nbytes()
                else:  # torch before 2, or no storage of its own
                    key, amount = tensor.data_ptr(), tensor.element_size() * tensor.nelement()
                one = Tensor(tuple(tensor.shape), str(tensor.dtype).replace("torch.", ""), str(tensor.device), int(amount))
            except Exception:  # sparse, functional, a subclass with a mind of its own
                continue
            known = found.get((one.device, key))
            if known is None or len(known.shape) < len(one.shape):
                found[one.device, key] = one
    return sorted((one for one in found.values() if one.bytes), key=lambda one: -one.bytes)[:TOP]


def _plain() -> Any:
    """Keeps subclasses of Tensor from being asked: their `__torch_function__` is the user's code."""
    torch: Any = sys.modules["torch"]
    plain = getattr(torch._C, "DisableTorchFunctionSubclass", None) or torch._C.DisableTorchFunction
    return plain()
