"""The request that starts a container, from its CRI configuration and image.

How the container gets its mounts depends on what the machine allows (`keeper.roots`). Where nothing is
allowed, mounts are symbolic links in a folder of the container, `STEERSMAN_ROOT` names it, and mount paths in
the command and the environment are changed to point there.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from steersman.cluster.node.cri import ContainerConfig, Mount
from steersman.cluster.node.errors import RuntimeFailed
from steersman.cluster.node.process.capabilities import capabilities_of, sysctls_of
from steersman.cluster.node.process.identities import ProcessIdentity
from steersman.cluster.node.process.image_store import Image
from steersman.cluster.node.process.keeper.messages import ContainerLimits, Spec
from steersman.cluster.node.process.keeper.stragglers import MARK
from steersman.objects.amounts import parsed
from steersman.objects.fields import quote
from steersman.objects.kinds.types.core_v1 import ResourceRequirements

__all__ = [
    "LINKED_ROOT",
    "LINKS",
    "MESSAGE_FILE",
    "command_of",
    "launch_spec",
    "limits_of",
    "linked",
    "mounts_of",
    "stop_signal",
]

LINKS: Final = "links"
#: Where links are, in the container's folder.
LINKED_ROOT: Final = "root"
_ROOT: Final = "STEERSMAN_ROOT"
#: What of the node's own environment containers get that run programs of the machine; the rest may be secret.
_INHERITED: Final = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "HOME")
_MESSAGE_PATH: Final = "/dev/termination-log"
MESSAGE_FILE: Final = "termination-log"
#: Where programs are in an image's folder.
_PROGRAMS: Final = ("usr/local/sbin", "usr/local/bin", "usr/sbin", "usr/bin", "sbin", "bin")
#: The kernel's limit.
_HOSTNAME_LENGTH: Final = 64
_LOG_MAX_BYTES: Final = 10 << 20
_LOG_MAX_FILES: Final = 5


def command_of(config: ContainerConfig, image: Image) -> list[str]:
    """What to run: the container's own command and arguments, or the image's."""
    command = config.command or image.config.entrypoint
    arguments = config.args or (() if config.command else image.config.cmd)
    if not command and not arguments:
        raise RuntimeFailed(
            f"failed to generate container {quote(config.name)} spec: failed to generate spec: "
            "no command specified"
        )
    if not config.command and arguments and image.program:
        return _of_program(image.program, arguments)
    return [*command, *arguments]


def _of_program(program: str, arguments: Sequence[str]) -> list[str]:
    """What an image that is a program of this machine runs with these arguments.

    Most images of registries have no entrypoint, and people write `kubectl run x --image=host/sh -- sh -c …`
    as with those. With the entrypoint before that, the shell would look for a script `sh`.
    """
    first, *rest = arguments
    if first == os.path.basename(program):
        return [program, *rest]
    if first.startswith("/") and os.path.basename(first) == os.path.basename(program):
        return [*arguments]
    return [program, *arguments]


def stop_signal(config: ContainerConfig, image: Image) -> int:
    """What asks the container to end."""
    name = (config.container.get("lifecycle") or {}).get("stopSignal") or image.config.stop_signal
    if not name:
        return signal.SIGTERM
    if name.isdigit():
        return int(name)
    found = re.fullmatch(r"SIGRTMIN\+(\d+)", name)
    if found is not None:
        return signal.SIGRTMIN + int(found[1])
    try:
        return signal.Signals[name if name.startswith("SIG") else f"SIG{name}"]
    except KeyError as error:
        raise RuntimeFailed(f"unknown signal {quote(name)}") from error


def mounts_of(config: ContainerConfig, folder: Path) -> list[Mount]:
    """All that the container sees at other places, outer ones first; its last words are written to a file."""
    path = config.container.get("terminationMessagePath") or _MESSAGE_PATH
    words = Mount(path, str(folder / MESSAGE_FILE))
    mounts = {_absolute(one.container_path): one for one in config.mounts}
    mounts[_absolute(path)] = words
    return [
        Mount(path, one.host_path, one.readonly)
        for path, one in sorted(mounts.items(), key=lambda item: item[0].count("/"))
    ]


def launch_spec(
    container_id: str, config: ContainerConfig, image: Image, who: ProcessIdentity, *,
    folder: Path, log: Path, tag: str, roots: str, controllers: Sequence[str],
    pod_security: Mapping[str, Any] | None = None, stand_ins: Path | None = None,
) -> Spec:  # fmt: skip
    """What the keeper needs to start a container, as `keeper.launching` and `keeper.containers` read it."""
    mounts = mounts_of(config, folder)
    security = config.container.get("securityContext") or {}
    argv = command_of(config, image)
    env = _environment(config, image, who)
    limits = limits_of(config.container.get("resources") or {}, controllers)
    spec: Spec = {
        "id": container_id,
        "folder": str(folder),
        "log": str(log),
        "log_max_bytes": _LOG_MAX_BYTES,
        "log_max_files": _LOG_MAX_FILES,
        "cwd": config.working_dir or image.config.working_dir or "/",
        "stdin": bool(config.container.get("stdin")),
        "tty": bool(config.container.get("tty")),
        "uid": who.uid,
        "gid": who.gid,
        "groups": who.groups,
        "argv": argv,
        "env": env,
        "no_new_privileges": security.get("allowPrivilegeEscalation") is False,
        "capabilities": capabilities_of(security),
        "stand_ins": str(stand_ins or ""),
        "limits": limits["limits"],
    }
    if "rlimits" in limits:
        spec["rlimits"] = limits["rlimits"]
    if roots == LINKS:
        root = folder / LINKED_ROOT
        _link(root, mounts)
        paths = [one.container_path for one in mounts]
        argv, env = _of_folder(argv, env, image.folder)
        spec["cwd"] = linked(spec["cwd"], root, paths) if spec["cwd"] != "/" else str(root)
        argv = [linked(one, root, paths) for one in argv]
        env = {name: linked(value, root, paths) for name, value in env.items()}
        env[_ROOT] = str(root)
    else:
        spec["root"] = {
            "kind": roots,
            "folder": str(folder),
            "hostname": config.env.get("HOSTNAME", "")[:_HOSTNAME_LENGTH],
            "image": image.folder,
            "own_root": image.own_root,
            "mounts": [(one.host_path, one.container_path, one.readonly) for one in mounts],
            "readonly": bool(security.get("readOnlyRootFilesystem")),
            "sysctls": sysctls_of(pod_security or {}),
        }
    spec["argv"] = argv
    spec["env"] = {**env, MARK: f"{tag}/{container_id}"}
    return spec


def _environment(config: ContainerConfig, image: Image, who: ProcessIdentity) -> dict[str, str]:
    inherited = () if image.own_root else _INHERITED
    env = {name: os.environ[name] for name in inherited if name in os.environ}
    if path := _path(image, env.get("PATH", "")):
        env["PATH"] = path
    if who.home:
        env["HOME"] = who.home
    elif image.own_root:
        account = image.accounts.user(os.geteuid())
        env["HOME"] = "/" if account is None else account.home
    if config.container.get("tty"):
        env["TERM"] = "xterm"
    return {**env, **image.config.env, **config.env}


def _path(image: Image, machines: str) -> str:
    """Where programs are looked for: first where the image has some; in a root of its own nowhere else."""
    if not image.folder:
        return machines
    own = [f"/{one}" for one in _PROGRAMS if os.path.isdir(f"{image.folder}/{one}")]
    if image.own_root:
        return ":".join(f"/{one}" for one in _PROGRAMS)
    return ":".join(dict.fromkeys((*own, *filter(None, machines.split(":")))))


def limits_of(resources: ResourceRequirements, controllers: Sequence[str]) -> ContainerLimits:
    """Limits by control groups where there are, else what a process can be limited in: its data."""
    limits = parsed(resources.get("limits"))
    wanted: dict[str, float] = {}
    found: ContainerLimits = {"limits": wanted}
    if "memory" in limits:
        wanted["memory"] = memory_bytes = limits["memory"].value
        if "memory" not in controllers:
            found["rlimits"] = {"RLIMIT_DATA": memory_bytes}
    if "cpu" in limits:
        wanted["cpu"] = limits["cpu"].milli_value / 1000
    return found


# --- without mounts


def linked(text: str, root: Path, paths: Iterable[str]) -> str:
    """`text` with the paths of mounts in it, wherever a path begins, changed to where they are linked."""
    paths = sorted(paths, key=len, reverse=True)
    if not any(path in text for path in paths):
        return text
    pattern = rf"(?<![\w./-])({'|'.join(re.escape(path) for path in paths)})(?![\w.-])"
    return re.sub(pattern, lambda found: f"{root}{found[1]}", text)


def _link(root: Path, mounts: Iterable[Mount]) -> None:
    root.mkdir(exist_ok=True)
    for mount in mounts:
        place = Path(f"{root}{mount.container_path}")
        # What is inside another mount would be written into it.
        if any(parent.is_symlink() for parent in place.parents):
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.is_symlink():
            place.symlink_to(mount.host_path)


def _of_folder(argv: list[str], env: dict[str, str], folder: str) -> tuple[list[str], dict[str, str]]:
    """Programs of an image's folder come before the machine's."""
    if not folder:
        return argv, env
    if argv[0].startswith("/") and os.path.exists(folder + argv[0]):
        argv = [folder + argv[0], *argv[1:]]
    path = ":".join((*(f"{folder}/{one}" for one in _PROGRAMS), env.get("PATH", os.defpath)))
    return argv, {**env, "PATH": path}


def _absolute(path: str) -> str:
    return os.path.normpath(f"/{path.lstrip('/')}")
