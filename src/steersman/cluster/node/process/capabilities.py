"""The Linux capabilities and sysctls of a container's processes. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from steersman.cluster.node.errors import RuntimeFailed
from steersman.objects.fields import quote

__all__ = ["capabilities_of", "sysctls_of"]


#: By the kernel's numbers.
_CAPABILITIES: Final = (
    "CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP",
    "LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER",
    "SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE",
    "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP",
    "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF",
    "CHECKPOINT_RESTORE",
)  # fmt: skip
#: What containers have that ask for nothing else, as container runtimes have agreed.
_DEFAULT: Final = frozenset((
    "CHOWN", "DAC_OVERRIDE", "FSETID", "FOWNER", "MKNOD", "NET_RAW", "SETGID", "SETUID", "SETFCAP", "SETPCAP",
    "NET_BIND_SERVICE", "SYS_CHROOT", "KILL", "AUDIT_WRITE",
))  # fmt: skip
#: Settings that belong to the namespace for communication between processes, which a container can have.
_OWN: Final = ("kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue.")


def capabilities_of(context: Mapping[str, Any]) -> list[int] | None:
    """The numbers of the capabilities that a container with this security context keeps; None: all."""
    if context.get("privileged"):
        return None
    changes = context.get("capabilities") or {}
    added, dropped = (
        {str(name).upper().removeprefix("CAP_") for name in changes.get(what) or ()}
        for what in ("add", "drop")
    )
    kept = (frozenset() if "ALL" in dropped else _DEFAULT) - dropped
    kept |= frozenset(_CAPABILITIES) - dropped if "ALL" in added else added
    if unknown := sorted(kept.difference(_CAPABILITIES)):
        raise RuntimeFailed(f"unknown capability {quote(f'CAP_{unknown[0]}')}")
    return [number for number, name in enumerate(_CAPABILITIES) if name in kept]


def sysctls_of(pod_context: Mapping[str, Any]) -> dict[str, str]:
    """The settings that a pod asks for, by name."""
    found = {one["name"].replace("/", "."): one["value"] for one in pod_context.get("sysctls") or ()}
    for name in found:
        if not name.startswith(_OWN):
            raise RuntimeFailed(
                f"sysctl {quote(name)} cannot be set for a pod of this node: "
                "its pods share the machine's network"
            )
    return found
