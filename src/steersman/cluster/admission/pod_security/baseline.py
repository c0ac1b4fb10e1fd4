"""The checks of the baseline level of the Pod Security Standards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

from steersman.cluster.admission.pod_security.violations import (
    Check,
    Setters,
    Violation,
    counted,
    quoted,
    security,
    verb,
)
from steersman.objects.fields import quote
from steersman.objects.pods import containers_of

__all__ = ["BASELINE", "in_user_namespace", "proc_mount", "setters_of", "valid_seccomp"]

_APP_ARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_SECCOMP_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
_CAPABILITIES: Final = frozenset(
    {
        "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE",
        "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
    }
)  # fmt: skip
_SYSCTLS: Final = (
    (0, {"kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies",
         "net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start"}),
    (27, {"net.ipv4.ip_local_reserved_ports"}),
    (29, {"net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl",
          "net.ipv4.tcp_keepalive_probes"}),
    (32, {"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"}),
    (37, {"net.ipv4.tcp_slow_start_after_idle", "net.ipv4.tcp_notsent_lowat"}),
)  # fmt: skip
_SELINUX_TYPES: Final = frozenset({"", "container_t", "container_init_t", "container_kvm_t"})


def in_user_namespace(spec: Mapping[str, Any]) -> bool:
    return spec.get("hostUsers") is False


def setters_of(spec: Mapping[str, Any], bad: Callable[[Mapping[str, Any]], Iterable[str] | None]) -> Setters:
    """Who has a security context that `bad` objects to. It gives the values it objects to, or None."""
    setters = Setters()
    values = bad(security(spec))
    if values is not None:
        setters.pod = True
        setters.values.update(values)
    _add_containers(setters, spec, bad)
    return setters


def _add_containers(
    setters: Setters, spec: Mapping[str, Any], bad: Callable[[Mapping[str, Any]], Iterable[str] | None]
) -> None:
    for container in containers_of(spec):
        values = bad(security(container))
        if values is not None:
            setters.containers.append(container["name"])
            setters.values.update(values)


def _container_setters(
    spec: Mapping[str, Any], bad: Callable[[Mapping[str, Any]], Iterable[str] | None]
) -> Setters:
    setters = Setters()
    _add_containers(setters, spec, bad)
    return setters


def _app_armor(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> Violation | None:
    def bad(context: Mapping[str, Any]) -> list[str] | None:
        profile = context.get("appArmorProfile")
        if profile is None or profile.get("type") in ("RuntimeDefault", "Localhost"):
            return None
        return [profile.get("type", "")]

    setters = setters_of(spec, bad)
    annotations = sorted(
        f"{key}={quote(value)}"
        for key, value in metadata.get("annotations", {}).items()
        if key.startswith(_APP_ARMOR)
        and value not in ("", "runtime/default")
        and not value.startswith("localhost/")
    )
    values = [*sorted(setters.values), *annotations]
    if not values and not setters:
        return None
    parts = setters.parts()
    if annotations:
        parts.append("annotation" if len(annotations) == 1 else "annotations")
    reason = "forbidden AppArmor profile" if len(values) == 1 else "forbidden AppArmor profiles"
    return Violation(reason, f"{' and '.join(parts)} must not set AppArmor profile type to {quoted(values)}")


def _capabilities(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> Violation | None:
    def bad(context: Mapping[str, Any]) -> set[str] | None:
        added = (context.get("capabilities") or {}).get("add") or ()
        return set(added) - _CAPABILITIES or None

    setters = _container_setters(spec, bad)
    if not setters:
        return None
    values = quoted(sorted(setters.values))
    return Violation(
        "non-default capabilities",
        f"{setters} must not include {values} in securityContext.capabilities.add",
    )


def _host_namespaces(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> Violation | None:
    shared = [f"{name}=true" for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name)]
    return Violation("host namespaces", ", ".join(shared)) if shared else None


def _host_paths(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> Violation | None:
    names = [volume["name"] for volume in spec.get("volumes") or () if volume.get("hostPath") is not None]
    return Violation("hostPath volumes", counted("volume", names)) if names else None


def _host_ports(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> Violation | None:
    names, found = [], set()
    for container in containers_of(spec):
        ports = {str(port["hostPort"]) for port in container.get("ports") or () if port.get("hostPort")}
        if ports:
            names.append(container["name"])
            found |= ports
    if not names:
        return None
    noun = "hostPort" if len(found) == 1 else "hostPorts"
    return Violation(
        "hostPort", f"{counted('container', names)} {verb(names)} {noun} {', '.join(sorted(found))}"
    )


def _hosts(container: Mapping[str, Any]) -> set[str]:
    """Where probes and lifecycle handlers connect to, where that is not the pod."""
    lifecycle = container.get("lifecycle") or {}
    handlers = [container.get(f"{probe}Probe") for probe in ("liveness", "readiness", "startup")]
    handlers += [lifecycle.get("postStart"), lifecycle.get("preStop")]
    targets = (handler.get(kind) for handler in handlers if handler for kind in ("httpGet", "tcpSocket"))
    return {target["host"] for target in targets if target and target.get("host")}


def _host_probes(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> Violation | None:
    by_name: dict[str, set[str]] = {}
    for container in containers_of(spec):
        if hosts := _hosts(container):
            by_name.setdefault(container["name"], set()).update(hosts)
    if not by_name:
        return None
    names = sorted(by_name)
    what = counted("probe or lifecycle host", sorted(set().union(*by_name.values())))
    return Violation("probe or lifecycle host", f"{counted('container', names)} {verb(names)} {what}")


def _privileged(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> Violation | None:
    setters = _container_setters(spec, lambda context: () if context.get("privileged") else None)
    if not setters:
        return None
    return Violation("privileged", f"{setters} must not set securityContext.privileged=true")


def proc_mount(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> Violation | None:
    def bad(context: Mapping[str, Any]) -> list[str] | None:
        given = context.get("procMount")
        return None if given in (None, "Default") else [given]

    setters = _container_setters(spec, bad)
    if not setters:
        return None
    values = quoted(sorted(setters.values))
    return Violation("procMount", f"{setters} must not set securityContext.procMount to {values}")


def _proc_mount_outside_user_namespaces(
    metadata: Mapping[str, Any], spec: Mapping[str, Any]
) -> Violation | None:
    return None if in_user_namespace(spec) else proc_mount(metadata, spec)


def _selinux(
    allowed: frozenset[str], metadata: Mapping[str, Any], spec: Mapping[str, Any]
) -> Violation | None:
    faults: set[str] = set()

    def bad(context: Mapping[str, Any]) -> list[str] | None:
        options = context.get("seLinuxOptions")
        if options is None:
            return None
        kind = options.get("type", "")
        faulty = [field for field in ("user", "role") if options.get(field)]
        faults.update(faulty)
        if kind in allowed:
            return [] if faulty else None
        return [kind]

    setters = setters_of(spec, bad)
    if not setters:
        return None
    data = [counted("type", sorted(setters.values))] if setters.values else []
    data += [f"{field} may not be set" for field in ("user", "role") if field in faults]
    return Violation(
        "seLinuxOptions", f"{setters} set forbidden securityContext.seLinuxOptions: {'; '.join(data)}"
    )


def _seccomp_annotations(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> Violation | None:
    annotations = metadata.get("annotations", {})
    keys = {_SECCOMP_POD, *(_SECCOMP_CONTAINER + container["name"] for container in containers_of(spec))}
    forbidden = [
        f"{key}={quote(annotations[key])}"
        for key in sorted(keys & annotations.keys())
        if annotations[key] not in ("runtime/default", "docker/default")
        and not annotations[key].startswith("localhost/")
    ]
    if not forbidden:
        return None
    noun = "annotation" if len(forbidden) == 1 else "annotations"
    return Violation("seccompProfile", f"forbidden {noun} {', '.join(forbidden)}")


def valid_seccomp(profile: Mapping[str, Any]) -> bool:
    return profile.get("type") in ("Localhost", "RuntimeDefault")


def _bad_seccomp(context: Mapping[str, Any]) -> list[str] | None:
    profile = context.get("seccompProfile")
    return None if profile is None or valid_seccomp(profile) else [profile.get("type", "")]


def seccomp(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> Violation | None:
    setters = setters_of(spec, _bad_seccomp)
    if not setters:
        return None
    values = quoted(sorted(setters.values))
    return Violation(
        "seccompProfile", f"{setters} must not set securityContext.seccompProfile.type to {values}"
    )


def _sysctls(
    allowed: frozenset[str], metadata: Mapping[str, Any], spec: Mapping[str, Any]
) -> Violation | None:
    names = [sysctl["name"] for sysctl in security(spec).get("sysctls") or ()]
    forbidden = [name for name in names if name not in allowed]
    return Violation("forbidden sysctls", ", ".join(forbidden)) if forbidden else None


def _sysctl_checks() -> tuple[tuple[int, Check], ...]:
    allowed: frozenset[str] = frozenset()
    checks: list[tuple[int, Check]] = []
    for minor, names in _SYSCTLS:
        allowed |= names
        checks.append((minor, partial(_sysctls, allowed)))
    return tuple(checks)


def _host_process(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> Violation | None:
    setters = setters_of(
        spec, lambda context: () if (context.get("windowsOptions") or {}).get("hostProcess") else None
    )
    if not setters:
        return None
    return Violation("hostProcess", f"{setters} must not set securityContext.windowsOptions.hostProcess=true")


#: Name → (since which minor version, check), in the order in which findings are listed.
BASELINE: Final[dict[str, tuple[tuple[int, Check], ...]]] = {
    "appArmorProfile": ((0, _app_armor),),
    "capabilities_baseline": ((0, _capabilities),),
    "hostNamespaces": ((0, _host_namespaces),),
    "hostPathVolumes": ((0, _host_paths),),
    "hostPorts": ((0, _host_ports),),
    "hostProbesAndHostLifecycle": ((34, _host_probes),),
    "privileged": ((0, _privileged),),
    "procMount": ((0, proc_mount), (35, _proc_mount_outside_user_namespaces)),
    "seLinuxOptions": (
        (0, partial(_selinux, _SELINUX_TYPES)),
        (31, partial(_selinux, _SELINUX_TYPES | {"container_engine_t"})),
    ),
    "seccompProfile_baseline": ((0, _seccomp_annotations), (19, seccomp)),
    "sysctls": _sysctl_checks(),
    "windowsHostProcess": ((0, _host_process),),
}
