"""How a command fails: one line for people, an exit code for scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steersman.client import ClientError

__all__ = ["CommandFailed", "no_use_of_the_api", "one_line"]


class CommandFailed(Exception):
    """Shown as `steer: MESSAGE`; the process ends with `code`."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


def one_line(error: BaseException) -> str:
    """What an error says, whose text may come from elsewhere."""
    return " ".join(str(error).split())


def no_use_of_the_api(error: ClientError, code: int = 1) -> CommandFailed:
    """What came of asking the API, with what to do about it if nothing is wrong with the question."""
    from steersman.client import NoKubeconfig, Unauthorized, Unreachable

    hint = ""
    if isinstance(error, NoKubeconfig):
        hint = "; `steer up` starts a cluster and writes one, KUBECONFIG or --kubeconfig names it"
    elif isinstance(error, Unreachable):
        hint = "; is the cluster up? `steer up` starts one, KUBECONFIG or --kubeconfig names another"
    elif isinstance(error, Unauthorized):
        hint = "; this kubeconfig's user is not known there, perhaps it is of another cluster"
    return CommandFailed(one_line(error) + hint, code)
