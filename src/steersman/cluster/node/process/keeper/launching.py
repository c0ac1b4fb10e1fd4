"""Starting a container's program: everything between fork and exec. Errors in the child are sent to the
keeper, worded like runc's, since they appear in pod statuses.
"""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import signal
import socket
import stat
import termios
from typing import TYPE_CHECKING, NoReturn

from . import roots
from .redirection import hand_over_connects
from .system_calls import die_with_parent, keep_capabilities, refuse_new_privileges

if TYPE_CHECKING:
    from .messages import Spec

__all__ = ["Launch", "limit_process", "spawn"]

#: The child's end of the pipe that tells what went wrong; closed by a successful exec.
_REPORT_FD = 3
#: Its end of what hands over who decides where it may connect to; likewise.
_HAND_OVER_FD = 4
_NO_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Launch:
    """A forked child that may not have reached exec yet."""

    __slots__ = ("handed_over", "pid", "report")

    def __init__(self, pid: int, report: int, handed_over: socket.socket) -> None:
        self.pid = pid
        #: To be read: the end at once when it runs, words before when it does not.
        self.report = report
        #: For `Redirection.adopt`, if `spec` has a list of stand-ins.
        self.handed_over = handed_over


def spawn(
    spec: Spec,
    stdio: tuple[int, int, int],
    *,
    tty: bool,
    group: str,
    nofile: tuple[int, int],
    inside: int = 0,
) -> Launch:
    """Fork a program. `spec` says what and as whom; `group` is its cgroup's folder; `nofile` its limit of
    open files; `inside` the first process of the container whose root it shares."""
    keeper = os.getpid()
    if spec.get("root") is not None and not inside:
        roots.MOUNTS.refresh()
    read, write = os.pipe()
    ours, theirs = socket.socketpair()
    try:
        pid = os.fork()
    except OSError:
        for fd in (read, write, ours.detach(), theirs.detach()):
            os.close(fd)
        raise
    if pid:
        os.close(write)
        theirs.close()
        os.set_blocking(read, False)
        return Launch(pid, read, ours)
    try:
        os.setsid()
        _arrange(stdio, write, theirs.detach())
        if tty:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        _become(spec, group, inside, nofile)
        if spec.get("no_new_privileges"):
            refuse_new_privileges()
        die_with_parent(signal.SIGKILL)
        if os.getppid() != keeper:
            os._exit(137)
        if spec.get("stand_ins"):
            hand_over_connects(_HAND_OVER_FD)
        _execute(spec["argv"], spec["env"])
    except BaseException as error:  # noqa: BLE001 - nothing of the keeper may run on in the child
        _report(error)
    os._exit(128)


def _arrange(stdio: tuple[int, int, int], report: int, hand_over: int) -> None:
    """Standard streams at 0 to 2, the report at 3, the handing over at 4, nothing else open. They are copied
    to higher numbers first, or moving one would overwrite another."""
    given = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (*stdio, report, hand_over)]
    for number, fd in enumerate(given):
        os.dup2(fd, number, inheritable=number < _REPORT_FD)
    os.closerange(_HAND_OVER_FD + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    for number in range(_REPORT_FD):
        os.set_blocking(number, True)
    signal.set_wakeup_fd(-1)
    # Some are handled by the keeper, others were ignored by whoever started it, such as a shell.
    for one in signal.valid_signals():
        if signal.getsignal(one) is not signal.SIG_DFL:
            signal.signal(one, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.umask(0o022)


def _become(spec: Spec, group: str, inside: int, nofile: tuple[int, int]) -> None:
    if group:
        with open(f"{group}/cgroup.procs", "w", encoding="utf-8") as file:
            file.write("0")
    plan = spec.get("root")
    if plan is not None and inside:
        roots.join(inside)
    elif plan is not None:
        roots.enter(plan)
    resource.setrlimit(resource.RLIMIT_NOFILE, nofile)
    limit_process(0, spec.get("rlimits") or {})
    _change_folder(spec)
    _own_streams(spec.get("uid"))
    # Only root has any to lose.
    if (capabilities := spec.get("capabilities")) is not None and os.geteuid() == 0:
        keep_capabilities(capabilities)
    if (groups := spec.get("groups")) is not None:
        os.setgroups(groups)
    if (gid := spec.get("gid")) is not None:
        os.setgid(gid)
    if (uid := spec.get("uid")) is not None:
        os.setuid(uid)


def _own_streams(uid: int | None) -> None:
    """Whoever the program runs as may open its standard streams again, as /dev/stdout."""
    if uid is None or uid == os.geteuid():
        return
    for number in range(_REPORT_FD):
        if os.isatty(number) or stat.S_ISFIFO(os.fstat(number).st_mode):
            os.fchown(number, uid, -1)


def limit_process(pid: int, rlimits: dict[str, int]) -> None:
    """Limit a process, this one if 0, unless it is gone. `RLIM_INFINITY` takes a limit away."""
    for name, value in rlimits.items():
        number = getattr(resource, name)
        try:
            # The hard limit stays: not even every root may raise one again.
            hard = resource.prlimit(pid, number)[1]
            known = [limit for limit in (value, hard) if limit != resource.RLIM_INFINITY]
            resource.prlimit(pid, number, (min(known, default=resource.RLIM_INFINITY), hard))
        except ProcessLookupError:
            return


def _change_folder(spec: Spec) -> None:
    folder = spec.get("cwd") or "/"
    try:
        if spec.get("root") is not None and spec["root"]["kind"] == "overlay":
            os.makedirs(folder, exist_ok=True)
        os.chdir(folder)
    except OSError as error:
        raise OSError(
            error.errno,
            f'error during container init: chdir to cwd ("{folder}") set in config.json failed: '
            f"{_words(error)}",
        ) from error


def _execute(argv: list[str], env: dict[str, str]) -> NoReturn:
    program = argv[0]
    if "/" in program:
        try:
            os.execve(program, argv, env)  # noqa: S606 - what a keeper is for
        except OSError as error:
            words = f"stat {program}: {_words(error)}" if error.errno == errno.ENOENT else _words(error)
            raise OSError(error.errno, f'error during container init: exec: "{program}": {words}') from error
    denied = False
    for folder in (env.get("PATH") or _NO_PATH).split(":"):
        path = os.path.join(folder or ".", program)
        try:
            os.execve(path, argv, env)  # noqa: S606 - likewise
        except PermissionError:
            # In a folder that is closed to this user there is nothing.
            denied = denied or os.path.exists(path)
        except (FileNotFoundError, NotADirectoryError):
            continue
    words = "permission denied" if denied else "executable file not found in $PATH"
    raise OSError(errno.ENOENT, f'error during container init: exec: "{program}": {words}')


def _words(error: OSError) -> str:
    """As Go says it."""
    return (os.strerror(error.errno) if error.errno else str(error)).lower()


def _report(error: BaseException) -> None:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    if isinstance(error, OSError) and error.filename:
        text = f"error during container init: {error.filename}: {text.lower()}"
    try:
        os.write(_REPORT_FD, text.encode(errors="replace")[:4096] or b"unknown error")
    except OSError:
        return
