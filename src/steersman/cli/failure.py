"""How a command fails: one line for people, an exit code for scripts.

| what is raised                          | said                                          | code    |
|-----------------------------------------|-----------------------------------------------|---------|
| `CommandFailed`                         | its message                                   | its own |
| an exception that this project defines  | its message: it is raised on purpose          | 1       |
| one of the operating system             | the file and what is wrong with it            | 1       |
| several at once                         | each of them, once                            | 1       |
| any other                               | where it comes from: a mistake of this program | 70      |
"""

from __future__ import annotations

import os
import traceback
from typing import TYPE_CHECKING, Final

from steersman.aio.mistakes import is_mistake, single_errors

if TYPE_CHECKING:
    from steersman.client import ClientError

__all__ = ["CommandFailed", "explained", "no_use_of_the_api", "one_line"]

#: sysexits' "internal software error".
_MISTAKE: Final = 70
#: Have the whole way to a mistake printed.
TRACEBACK: Final = "STEER_TRACEBACK"


class CommandFailed(Exception):
    """Shown as `steer: MESSAGE`; the process ends with `code`."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


def one_line(error: BaseException) -> str:
    """What an error says, whose text may come from elsewhere."""
    try:
        return " ".join(str(error).split())
    except Exception:  # noqa: BLE001 - an error of somebody else's making may fail at this, too
        return type(error).__name__


def no_use_of_the_api(error: ClientError, code: int = 1) -> CommandFailed:
    """What came of asking the API, with what to do about it if nothing is wrong with the question."""
    from steersman.client import NoKubeconfig, Unauthorized, Unreachable

    hint = ""
    if isinstance(error, NoKubeconfig):
        hint = "; `steer up` starts a cluster and writes a kubeconfig; KUBECONFIG or --kubeconfig selects one"
    elif isinstance(error, Unreachable):
        hint = "; is the cluster up? `steer up` starts one; KUBECONFIG or --kubeconfig selects another"
    elif isinstance(error, Unauthorized):
        hint = "; the user of the kubeconfig is unknown there; is the kubeconfig for another cluster?"
    return CommandFailed(one_line(error) + hint, code)


def explained(error: BaseException) -> CommandFailed:
    """What a command fails with that has nothing of its own to say about an error."""
    failures = [_explained(each) for each in single_errors(error)]
    message = "; ".join(dict.fromkeys(str(failure) for failure in failures))
    return CommandFailed(message, max(failure.code for failure in failures))


def _explained(error: BaseException) -> CommandFailed:
    if isinstance(error, CommandFailed):
        return error
    if isinstance(error, OSError):
        said = error.strerror or one_line(error)
        return CommandFailed(f"{error.filename}: {said}" if error.filename else said)
    if isinstance(error, MemoryError):
        return CommandFailed("not enough memory")
    if isinstance(error, ModuleNotFoundError) and not f"{error.name}.".startswith("steersman."):
        return CommandFailed(
            f"{error.name} is not installed: pip install 'steersman[all]' installs all packages"
        )
    return CommandFailed(_mistake(error), _MISTAKE) if is_mistake(error) else _raised_on_purpose(error)


def _raised_on_purpose(error: BaseException) -> CommandFailed:
    from steersman.client import ClientError

    return no_use_of_the_api(error) if isinstance(error, ClientError) else CommandFailed(one_line(error))


def _mistake(error: BaseException) -> str:
    if os.environ.get(TRACEBACK):
        traceback.print_exception(error)
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({os.path.basename(frames[-1].filename)}, line {frames[-1].lineno})" if frames else ""
    said = f"{type(error).__name__}: {one_line(error)}".removesuffix(": ")
    return f"a bug in steer: {said}{place}; {TRACEBACK}=1 shows the traceback for a bug report"
