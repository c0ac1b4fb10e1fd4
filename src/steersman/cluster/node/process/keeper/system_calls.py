"""System calls that Python lacks: mount, unshare, prctl, seccomp. Errors are `OSError`."""

from __future__ import annotations

import ctypes
import errno
import os
import platform

__all__ = [
    "CLONE_NEWIPC", "CLONE_NEWNS", "CLONE_NEWUSER", "CLONE_NEWUTS", "CONNECT", "MNT_DETACH", "MS_BIND",
    "MS_NODEV", "MS_NOEXEC", "MS_NOSUID", "MS_PRIVATE", "MS_RDONLY", "MS_REC", "MS_REMOUNT",
    "become_subreaper", "descriptor_of", "die_with_parent", "filter_system_calls", "keep_capabilities",
    "mount", "pivot_root", "refuse_new_privileges", "set_namespace", "set_process_name", "unmount", "unshare",
]  # fmt: skip

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REMOUNT = 32
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18
MNT_DETACH = 2
_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_PR_CAPBSET_DROP = 24
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
#: For C libraries without a wrapper.
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}

#: As a filter of system calls sees it: the machine's number in <linux/audit.h>, and that of `connect`.
CONNECT = {"x86_64": (0xC000003E, 42), "aarch64": (0xC00000B7, 203), "riscv64": (0xC00000F3, 203)}.get(
    platform.machine()
)
_SECCOMP = {"x86_64": 317}.get(platform.machine(), 277)
_PIDFD_GETFD = 438
_PIDFD_THREAD = os.O_EXCL
_SET_MODE_FILTER = 1
_NEW_LISTENER = 8

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str = "") -> None:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), what or None)


def _encoded(text: str) -> bytes | None:
    return os.fsencode(text) if text else None


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    names = os.fsencode(source or "none"), os.fsencode(target), _encoded(kind)
    _check(_libc.mount(*names, ctypes.c_ulong(flags), _encoded(data)), target)


def unmount(target: str, flags: int = 0) -> None:
    _check(_libc.umount2(os.fsencode(target), flags), target)


def unshare(flags: int) -> None:
    _check(_libc.unshare(flags))


def set_namespace(fd: int, kind: int) -> None:
    _check(_libc.setns(fd, kind))


def pivot_root(new: str, old: str) -> None:
    if hasattr(_libc, "pivot_root"):
        result = _libc.pivot_root(os.fsencode(new), os.fsencode(old))
    else:
        number = _PIVOT_ROOT[platform.machine()]
        result = _libc.syscall(ctypes.c_long(number), os.fsencode(new), os.fsencode(old))
    _check(result, new)


def die_with_parent(signal: int) -> None:
    """Have the kernel send `signal` when the parent ends. A change of user forgets it."""
    _check(_libc.prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal), 0, 0, 0))


def refuse_new_privileges() -> None:
    """Have programs run from now on get no more rights than this process has."""
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), 0, 0, 0))


class _Filter(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


def filter_system_calls(program: bytes) -> int:
    """Have a filter (BPF, steps of eight bytes) decide about all system calls from now on, also of programs
    run later. A descriptor that hears of those it is to be told of."""
    given = _Filter(len(program) // 8, program)
    call = ctypes.c_long(_SECCOMP), ctypes.c_ulong(_SET_MODE_FILTER), ctypes.c_ulong(_NEW_LISTENER)
    result: int = _libc.syscall(*call, ctypes.byref(given))
    _check(result, "seccomp")
    return result


def descriptor_of(thread: int, fd: int) -> int:
    """A copy of another process' descriptor, which is one of its threads'."""
    handle = _handle_of(thread)
    try:
        call = ctypes.c_long(_PIDFD_GETFD), ctypes.c_long(handle), ctypes.c_long(fd)
        result: int = _libc.syscall(*call, ctypes.c_ulong(0))
        _check(result, "pidfd_getfd")
        return result
    finally:
        os.close(handle)


def _handle_of(thread: int) -> int:
    """Of the thread itself, which may have descriptors of its own and outlive its process' first one."""
    try:
        return os.pidfd_open(thread, _PIDFD_THREAD)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    # Before Linux 6.9 processes have handles, but threads do not.
    with open(f"/proc/{thread}/status", encoding="ascii", errors="replace") as file:
        return os.pidfd_open(next(int(line.split()[1]) for line in file if line.startswith("Tgid:")))


def keep_capabilities(numbers: list[int]) -> None:
    """Have programs run from now on get none but these, whoever runs them."""
    # The kernel knows fewer of them than there are bits.
    for number in set(range(64)).difference(numbers):
        failed = _libc.prctl(_PR_CAPBSET_DROP, ctypes.c_ulong(number), 0, 0, 0)
        if failed and ctypes.get_errno() != errno.EINVAL:
            _check(failed)


def become_subreaper() -> None:
    """Be the parent of descendants whose own has ended."""
    _check(_libc.prctl(_PR_SET_CHILD_SUBREAPER, ctypes.c_ulong(1), 0, 0, 0))


def set_process_name(name: str) -> None:
    """What others see this process called; at most 15 characters count."""
    _check(_libc.prctl(_PR_SET_NAME, os.fsencode(name), 0, 0, 0))
