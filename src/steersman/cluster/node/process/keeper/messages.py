"""The types of requests, answers and events between the node agent and the keeper: what `protocol` carries as
JSON.

Both sides are checked against them: the agent where it calls (`process.link`, `process.plans`), the keeper
where it reads and answers (`server`, `containers`, `launching`, `roots`). For type checkers only; the keeper
does not load this module.

| op            | request            | answer    | descriptors                                        |
|---------------|--------------------|-----------|----------------------------------------------------|
| `hello`       | –                  | `HelloAnswer`   |                                                    |
| `start`       | `StartRequest`     | `StartedAnswer` |                                                    |
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
    "ContainerLimits",
    "ContainerReport",
    "ContainerRequest",
    "Event",
    "ExecEnded",
    "ExecKillRequest",
    "ExecRequest",
    "Exited",
    "HelloAnswer",
    "RootPlan",
    "Spec",
    "StartRequest",
    "StartedAnswer",
    "StopRequest",
    "UpdateRequest",
]


class ContainerLimits(TypedDict):
    """The resource limits of a container."""

    limits: dict[str, float]
    """By control groups: `memory` in bytes, `cpu` in cores."""
    rlimits: NotRequired[dict[str, int]]
    """By setrlimit, where a control group is missing: `RLIMIT_DATA` in bytes."""


class RootPlan(TypedDict):
    """The root file system of a container (`roots`)."""

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


class Spec(ContainerLimits):
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


class ContainerReport(TypedDict):
    """The current state of a started container."""

    id: str
    state: Literal["running", "exited"]
    pid: int
    group: str
    started: float
    finished: float
    code: int
    oom: bool


class ContainerRequest(TypedDict):
    """A request about one container, by its id."""

    id: str


class StartRequest(TypedDict):
    spec: Spec


class StopRequest(ContainerRequest):
    signal: int
    timeout: float


class UpdateRequest(ContainerRequest, ContainerLimits):
    """The limits of a running container from now on; omitted ones are removed."""


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


class HelloAnswer(TypedDict):
    """The keeper's version and containers."""

    pid: int
    roots: str
    group: str
    controllers: Sequence[str]
    containers: list[ContainerReport]


class StartedAnswer(TypedDict):
    record: ContainerReport


class Attached(TypedDict):
    stdin: bool
    """Whether the descriptor of its standard input came with this answer."""


class Exited(ContainerReport):
    """Event: a container has ended."""

    event: Literal["exit"]


class ExecEnded(TypedDict):
    """Event: a command beside a container has ended."""

    event: Literal["exec_exit"]
    exec: str
    code: int


Event = Exited | ExecEnded
