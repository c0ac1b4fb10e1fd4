"""The checks that the restricted level of the Pod Security Standards adds to baseline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from steersman.cluster.admission.pod_security.baseline import (
    in_user_namespace,
    proc_mount,
    seccomp,
    setters_of,
    valid_seccomp,
)
from steersman.cluster.admission.pod_security.violations import (
    Check,
    Violation,
    counted,
    quoted,
    security,
    verb,
)
from steersman.objects.pods import containers_of

__all__ = ["RESTRICTED"]

_ALLOWED_VOLUMES: Final = frozenset(
    {
        "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim",
        "projected", "secret",
    }
)  # fmt: skip
_OTHER_VOLUMES: Final = (
    "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "gitRepo", "nfs", "iscsi", "glusterfs", "rbd",
    "flexVolume", "cinder", "cephfs", "flocker", "fc", "azureFile", "vsphereVolume", "quobyte", "azureDisk",
    "photonPersistentDisk", "portworxVolume", "scaleIO", "storageos",
)  # fmt: skip


def _except_windows(check: Check) -> Check:
    """Windows has none of what the check is about, and pods for it cannot set it."""

    def checked(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> Violation | None:
        return None if (spec.get("os") or {}).get("name") == "windows" else check(metadata, spec)

    return checked


def _except_user_namespaces(check: Check) -> Check:
    """Root in a user namespace is nobody outside."""

    def checked(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> Violation | None:
        return None if in_user_namespace(spec) else check(metadata, spec)

    return checked


def _escalation(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> Violation | None:
    names = [
        container["name"]
        for container in containers_of(spec)
        if security(container).get("allowPrivilegeEscalation") is not False
    ]
    if not names:
        return None
    return Violation(
        "allowPrivilegeEscalation != false",
        f"{counted('container', names)} must set securityContext.allowPrivilegeEscalation=false",
    )


def _capabilities(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> Violation | None:
    keeping, adding, added = [], [], set()
    for container in containers_of(spec):
        capabilities = security(container).get("capabilities") or {}
        if "ALL" not in (capabilities.get("drop") or ()):
            keeping.append(container["name"])
        if extra := set(capabilities.get("add") or ()) - {"NET_BIND_SERVICE"}:
            adding.append(container["name"])
            added |= extra
    details = []
    if keeping:
        details.append(f'{counted("container", keeping)} must set securityContext.capabilities.drop=["ALL"]')
    if adding:
        details.append(
            f"{counted('container', adding)} must not include {quoted(sorted(added))} in "
            "securityContext.capabilities.add"
        )
    return Violation("unrestricted capabilities", "; ".join(details)) if details else None


def _volumes(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> Violation | None:
    bad = [volume for volume in spec.get("volumes") or () if _ALLOWED_VOLUMES.isdisjoint(volume)]
    if not bad:
        return None
    names = [volume["name"] for volume in bad]
    kinds = {next((kind for kind in _OTHER_VOLUMES if kind in volume), "unknown") for volume in bad}
    what = counted("restricted volume type", sorted(kinds))
    return Violation("restricted volume types", f"{counted('volume', names)} {verb(names)} {what}")


def _non_root(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> Violation | None:
    reason = "runAsNonRoot != true"
    setters = setters_of(spec, lambda context: () if context.get("runAsNonRoot") is False else None)
    if setters:
        return Violation(reason, f"{setters} must not set securityContext.runAsNonRoot=false")
    if security(spec).get("runAsNonRoot"):
        return None
    silent = [c["name"] for c in containers_of(spec) if security(c).get("runAsNonRoot") is None]
    if not silent:
        return None
    return Violation(
        reason, f"pod or {counted('container', silent)} must set securityContext.runAsNonRoot=true"
    )


def _non_root_user(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> Violation | None:
    def bad(context: Mapping[str, Any]) -> tuple[()] | None:
        return () if context.get("runAsUser") == 0 else None

    setters = setters_of(spec, bad)
    return Violation("runAsUser=0", f"{setters} must not set runAsUser=0") if setters else None


def _seccomp(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> Violation | None:
    if (bad := seccomp(metadata, spec)) is not None:
        return bad
    profile = security(spec).get("seccompProfile")
    if profile is not None and valid_seccomp(profile):
        return None
    silent = [c["name"] for c in containers_of(spec) if security(c).get("seccompProfile") is None]
    if not silent:
        return None
    return Violation(
        "seccompProfile",
        f"pod or {counted('container', silent)} must set securityContext.seccompProfile.type to "
        '"RuntimeDefault" or "Localhost"',
    )


#: Name → (since which minor version, check), in the order in which findings are listed.
RESTRICTED: Final[dict[str, tuple[tuple[int, Check], ...]]] = {
    "allowPrivilegeEscalation": ((8, _escalation), (25, _except_windows(_escalation))),
    "capabilities_restricted": ((22, _capabilities), (25, _except_windows(_capabilities))),
    "procMount_restricted": ((35, proc_mount),),
    "restrictedVolumes": ((0, _volumes),),
    "runAsNonRoot": ((0, _non_root), (35, _except_user_namespaces(_non_root))),
    "runAsUser": ((23, _non_root_user), (35, _except_user_namespaces(_non_root_user))),
    "seccompProfile_restricted": ((19, _seccomp), (25, _except_windows(_seccomp))),
}
