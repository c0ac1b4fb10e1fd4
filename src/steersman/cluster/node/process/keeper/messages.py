"""Requests, answers and events between the agent and the keeper, as types: what `protocol` carries as JSON.

Both sides are checked against them: the agent where it calls (`process.link`, `process.plans`), the keeper
where it reads and answers (`server`, `containers`, `launching`, `roots`). For type checkers only; the keeper
does not load this module.

| op            | request            | answer    | descriptors                                        |
|---------------|--------------------|-----------|----------------------------------------------------|
| `hello`       | –                  | `Hello`   |                                                    |
| `start`       | `StartRequest`     | `Started` |                                                    |
| `stop`        | `StopRequest`      | –         |                                                    |
| `update`      | `UpdateRequest`    | –         |                                                    |
| `forget`      | `ContainerRequest` | –         |                                                    |
| `exec`        | `ExecRequest`      | –         | standard input, output and error, with the request |
| `exec_kill`   | `ExecKillRequest`  | –         |                                                    |
| `attach`      | `AttachRequest`    | `Attached`| of each stream; of standard input, with the answer |
| `close_stdin` | `ContainerRequest` | –         |                                                    |
| `shutdown`    | –                  | –         |                                                    |
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NotRequired, TypedDict

__all__ = [
    "AttachRequest",
    "Attached",
    "ContainerRequest",
    "ContainerState",
    "Event",
    "ExecEnded",
    "ExecKillRequest",
    "ExecRequest",
    "Exited",
    "Hello",
    "Limits",
    "RootPlan",
    "Spec",
    "StartRequest",
    "Started",
    "StopRequest",
    "UpdateRequest",
]


class Limits(TypedDict):
    """What a container may use."""

    limits: dict[str, float]
    """By control groups: `memory` in bytes, `cpu` in cores."""
    rlimits: NotRequired[dict[str, int]]
    """By setrlimit, where a control group is missing: `RLIMIT_DATA` in bytes."""


class RootPlan(TypedDict):
    """The file system that a container sees (`roots`)."""

    kind: str
    """`overlay` or `mirror`."""
    folder: str
    mounts: Sequence[tuple[str, str, bool]]
    """Source, path in the container, whether it is read-only."""
    hostname: NotRequired[str]
    image: NotRequired[str]
    own_root: NotRequired[bool]
    """Whether the image stands in the place of the machine's `/`."""
    readonly: NotRequired[bool]
    sysctls: NotRequired[dict[str, str]]


class Spec(Limits):
    """A container to be started."""

    id: str
    folder: str
    log: str
    log_max_bytes: int
    log_max_files: int
    argv: list[str]
    env: dict[str, str]
    cwd: str
    stdin: bool
    tty: bool
    uid: int | None
    gid: int | None
    groups: Sequence[int] | None
    no_new_privileges: bool
    capabilities: list[int] | None
    """The numbers of those that it keeps; None: all."""
    stand_ins: str
    """The file that says which addresses connections are led to; empty if none are."""
    root: NotRequired[RootPlan]
    """Without it, the container sees the machine itself."""


class ContainerState(TypedDict):
    """A container that was started, as it is now."""

    id: str
    state: Literal["running", "exited"]
    pid: int
    group: str
    started: float
    finished: float
    code: int
    oom: bool


class ContainerRequest(TypedDict):
    """A container, by its id."""

    id: str


class StartRequest(TypedDict):
    spec: Spec


class StopRequest(ContainerRequest):
    signal: int
    timeout: float


class UpdateRequest(ContainerRequest, Limits):
    """The limits that a running container has from now on, and no others."""


class ExecRequest(ContainerRequest):
    exec: str
    """The id of the command, which the agent chooses."""
    argv: list[str]
    tty: bool
    env: dict[str, str]


class ExecKillRequest(TypedDict):
    exec: str


class AttachRequest(ContainerRequest):
    streams: list[str]
    """What each descriptor is for: `stdout`, `stderr`."""
    stdin: bool


class Hello(TypedDict):
    """The keeper and the containers it keeps."""

    pid: int
    roots: str
    group: str
    controllers: Sequence[str]
    containers: list[ContainerState]


class Started(TypedDict):
    record: ContainerState


class Attached(TypedDict):
    stdin: bool
    """Whether the descriptor of its standard input came with this answer."""


class Exited(ContainerState):
    """Event: a container has ended."""

    event: Literal["exit"]


class ExecEnded(TypedDict):
    """Event: a command beside a container has ended."""

    event: Literal["exec_exit"]
    exec: str
    code: int


Event = Exited | ExecEnded
