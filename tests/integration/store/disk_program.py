"""A process whose disk fails in the way its argument names. Started by test_disk.py.

sync: from the second write on, every fsync of the process fails with EIO, by a seccomp filter: SQLite,
the interpreter and the kernel's answer are the real ones, nothing is replaced in between.
size: files cannot grow beyond RLIMIT_FSIZE for a while, which SQLite sees as a failed write.
"""

from __future__ import annotations

import asyncio
import ctypes
import errno
import platform
import resource
import signal
import struct
import sys

from steersman.cluster.store import SqliteStore, Unavailable

#: machine → numbers of fsync, fdatasync, seccomp
SYSCALLS = {"x86_64": (74, 75, 317), "aarch64": (82, 83, 277)}
CANNOT = 42


def fail_syncs() -> None:
    """Install, for all threads: if the syscall is fsync or fdatasync, answer EIO, else allow."""
    fsync, fdatasync, seccomp = SYSCALLS[platform.machine()]
    load, equal, answer = 0x20, 0x15, 0x06
    program = (
        struct.pack("HBBI", load, 0, 0, 0)
        + struct.pack("HBBI", equal, 1, 0, fsync)
        + struct.pack("HBBI", equal, 0, 1, fdatasync)
        + struct.pack("HBBI", answer, 0, 0, 0x00050000 | errno.EIO)
        + struct.pack("HBBI", answer, 0, 0, 0x7FFF0000)
    )
    code = ctypes.create_string_buffer(program, len(program))
    header = ctypes.create_string_buffer(struct.pack("HP", len(program) // 8, ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, set_filter, all_threads = 38, 1, 1
    if libc.prctl(no_new_privileges, 1, 0, 0, 0) or libc.syscall(seccomp, set_filter, all_threads, header):
        sys.exit(CANNOT)


async def sync(folder: str) -> None:
    store = await SqliteStore.open(folder)
    print("acknowledged", (await store.put("before", b"1")).revision, flush=True)
    fail_syncs()
    try:
        await store.put("after", b"2")
    finally:
        print("came back from a failed fsync", flush=True)


async def size(folder: str) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    store = await SqliteStore.open(folder)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, hard))
    written = 0
    while True:
        try:
            await store.put(f"/a/b/{written}", b"x" * 10_000)
        except Unavailable as error:
            refused = str(error)
            break
        written += 1
    assert store.count("") == written == store.revision, "reads go on"
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    await store.put(f"/a/b/{written}", b"x" * 10_000)
    await store.close()
    print(written + 1, refused, flush=True)


if __name__ == "__main__":
    if platform.machine() not in SYSCALLS and sys.argv[1] == "sync":
        sys.exit(CANNOT)
    asyncio.run({"sync": sync, "size": size}[sys.argv[1]](sys.argv[2]))
