"""What this process holds, asked cheaply from inside: the kernel's count, the C heap's, Python's and torch's. Linux."""

import ctypes
import sys
from typing import Any, Callable, Dict, NamedTuple, Optional

MIB = 1 << 20


class _MallInfo2(ctypes.Structure):
    """mallinfo2(3), glibc 2.33 and newer."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")
    ]


def _function(name: str, result: Any, *arguments: Any) -> Optional[Callable[..., Any]]:
    """A function of the C library; None where it has none (musl, old glibc)."""
    try:
        function: Any = getattr(ctypes.CDLL(None), name)
    except (OSError, AttributeError):
        return None
    function.restype, function.argtypes = result, list(arguments)
    return function  # type: ignore[no-any-return]


# mallinfo, the older one, counts in ints that wrap at 2 GiB: not taken.
_mallinfo2 = _function("mallinfo2", _MallInfo2)
_malloc_trim = _function("malloc_trim", ctypes.c_int, ctypes.c_size_t)


class Memory(NamedTuple):
    """Sizes in bytes; 0 where one cannot be had."""

    #: RSS: pages in memory, those of files included.
    rss: int
    #: Of these the ones that only this process's swapping would free: anonymous and shared memory, /proc/PID/status.
    anon: int
    #: Live in the C heap (`uordblks` + `hblkhd`).
    heap_used: int
    #: Free in the C heap and not given back to the kernel (`fordblks`).
    heap_free: int
    #: Allocated by torch on all GPUs.
    cuda_allocated: int
    #: Reserved by torch's caching allocator on all GPUs.
    cuda_reserved: int


def read() -> Memory:
    """Reads all of it: some 50 microseconds."""
    rss = anon = 0
    try:
        with open("/proc/self/status", "rb") as file:
            for line in file:
                if line.startswith(b"VmRSS:"):
                    rss = int(line.split()[1]) << 10
                elif line.startswith((b"RssAnon:", b"RssShmem:")):
                    anon += int(line.split()[1]) << 10
    except (OSError, ValueError, IndexError):
        pass
    used, free = heap()
    allocated, reserved = cuda()
    return Memory(rss, anon, used, free, allocated, reserved)


def heap() -> "tuple[int, int]":
    """(live, free) bytes of the C heap, as far as glibc says."""
    if _mallinfo2 is None:
        return 0, 0
    info = _mallinfo2()
    return int(info.uordblks) + int(info.hblkhd), int(info.fordblks)


def cuda() -> "tuple[int, int]":
    """(allocated, reserved) bytes of torch on all GPUs; CUDA is never started by asking."""
    gpus = initialised_cuda()
    if gpus is None:
        return 0, 0
    devices = range(gpus.device_count())
    return sum(gpus.memory_allocated(i) for i in devices), sum(gpus.memory_reserved(i) for i in devices)


def initialised_cuda() -> Any:
    """`torch.cuda` if the program has imported torch and uses a GPU, else None."""
    gpus = getattr(sys.modules.get("torch"), "cuda", None)
    try:
        return gpus if gpus is not None and gpus.is_initialized() else None
    except Exception:
        return None


def trim() -> Optional[bool]:
    """Gives free pages of the C heap back to the kernel: malloc_trim(3). Whether there were any; None where it cannot."""
    return None if _malloc_trim is None else bool(_malloc_trim(0))


def as_metrics(memory: Memory, objects: int) -> Dict[str, float]:
    """For a logger of experiments: MiB, and what cannot be had left out."""
    metrics = {"rss": memory.rss, "anon": memory.anon, "heap_used": memory.heap_used, "heap_free": memory.heap_free}
    if initialised_cuda() is not None:
        metrics.update(cuda_allocated=memory.cuda_allocated, cuda_reserved=memory.cuda_reserved)
    found = {f"lowtide/{name}_mib": round(value / MIB, 3) for name, value in metrics.items() if value or "cuda" in name}
    found["lowtide/gc_objects"] = float(objects)
    return found


def size(amount: float) -> str:
    """Bytes for people: `1.5 MiB`, `-3 KiB`."""
    for unit, bytes_of in (("GiB", 1 << 30), ("MiB", MIB), ("KiB", 1 << 10)):
        if abs(amount) >= bytes_of:
            value = amount / bytes_of
            return f"{value:.0f} {unit}" if abs(value) >= 100 else f"{value:.3g} {unit}"
    return f"{amount:.0f} bytes"
