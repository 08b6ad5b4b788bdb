"""A copy of this process that holds still, for the recorder to read while this one goes on.

The copy shares every page with this process until one of the two writes to it. It is made by clone(2) without the GIL let
go and without any fork handler, and runs nothing but `fgetc` of the C library, on a stack of its own: no Python, no lock, no
allocation, no signal (all are blocked). What `fgetc` waits for is the recorder's end of a socket: when that closes, for
whatever reason, or after SECONDS, the copy ends. It has no descriptors of its own (CLONE_FILES), so that it holds no pipe
open that this process closes. Nobody is told of its end (exit signal 0): `os.wait` and `subprocess` never see it, and it
is collected at the next mark.
"""

import ctypes
import os
import signal
import socket
import struct

SECONDS = 30
CLONE_FILES = 0x400
WALL = 0x40000000
STACK = 64 << 10
#: Whatever has a device's memory mapped is not copied: what a driver does then has not been tried.
DEVICES = (b"/dev/nvidia", b"/dev/kfd", b"/dev/dri/")

copies = {}  # by pid: what must live as long as the copy, and the process that made it


def take(folder):
    """The copy's pid, -1 where there is none to be had. The recorder listens at `PID.snapshot` in the folder of marks."""
    if copies or has_device():
        return -1
    stream = connect(os.path.join(folder, "%d.snapshot" % os.getpid()))
    if stream is None:
        return -1
    libc = ctypes.PyDLL(None)
    libc.fdopen.restype = ctypes.c_void_p
    libc.fdopen.argtypes = [ctypes.c_int, ctypes.c_char_p]
    libc.setvbuf.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
    libc.clone.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
    libc.fclose.argtypes = [ctypes.c_void_p]
    file = libc.fdopen(stream.fileno(), b"r")
    if not file:
        stream.close()
        return -1
    stream.detach()  # the C library has it now
    # A full buffer: with none, `fgetc` would first write out what stdout holds.
    buffer = ctypes.create_string_buffer(STACK)
    libc.setvbuf(file, ctypes.addressof(buffer), 0, 4096)
    top = (ctypes.addressof(buffer) + STACK) & ~15
    wait = ctypes.cast(libc.fgetc, ctypes.c_void_p)
    pid = -1
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        pid = libc.clone(wait, top, CLONE_FILES, file)
        if pid > 0:
            copies[pid] = (libc, file, buffer, os.getpid())
        else:
            libc.fclose(file)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return pid if pid > 0 else -1


def collect():
    """Takes away the copies that have ended."""
    for pid, (libc, file, _, maker) in list(copies.items()):
        # In a forked child they are its parent's.
        if maker != os.getpid() or libc.waitpid(pid, None, WALL | os.WNOHANG):
            del copies[pid]
            libc.fclose(ctypes.c_void_p(file))


def connect(path):
    """A socket to the recorder, which must be listening already; nobody waits."""
    stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        stream.setblocking(False)
        stream.connect(path)
        stream.setblocking(True)
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@ll", SECONDS, 0))
        return stream
    except OSError:
        stream.close()
        return None


def has_device():
    with open("/proc/self/maps", "rb") as maps:
        text = maps.read()
    return any(device in text for device in DEVICES)
