"""SecurityContext of a container and PodSecurityContext of a pod."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self, get_args

from steersman.objects.builders.part import Part
from steersman.objects.kinds.enums import AppArmorProfileType, PodFSGroupChangePolicy, SeccompProfileType

__all__ = ["PodSecurityContext", "SecurityContext"]

_PROFILES = get_args(SeccompProfileType)
_GROUP_CHANGES = get_args(PodFSGroupChangePolicy)


class _Identity(Part):
    """What a container and a pod can both say; the container's word goes first."""

    __slots__ = ()

    def run_as_non_root(self, value: bool = True) -> Self:
        return self._put("runAsNonRoot", self._flag("runAsNonRoot", value))

    def run_as_user(self, uid: int) -> Self:
        return self._put("runAsUser", self._count("runAsUser", uid))

    def run_as_group(self, gid: int) -> Self:
        return self._put("runAsGroup", self._count("runAsGroup", gid))

    def seccomp_profile(self, profile: SeccompProfileType, file: str | None = None) -> Self:
        """`file` is the profile on the node, for Localhost."""
        return self._profile("seccompProfile", profile, file)

    def app_armor_profile(self, profile: AppArmorProfileType, name: str | None = None) -> Self:
        """`name` is the profile loaded on the node, for Localhost."""
        return self._profile("appArmorProfile", profile, name)

    def se_linux(
        self,
        *,
        level: str | None = None,
        role: str | None = None,
        type: str | None = None,  # noqa: A002 - the API's word
        user: str | None = None,
    ) -> Self:
        given = {"level": level, "role": role, "type": type, "user": user}
        options = {
            key: self._text(f"seLinuxOptions.{key}", text) for key, text in given.items() if text is not None
        }
        return self._put("seLinuxOptions", options)

    def _profile(self, field: str, profile: str, local: str | None) -> Self:
        value: dict[str, Any] = {"type": self._choice(field, profile, _PROFILES)}
        if (profile == "Localhost") != (local is not None):
            raise self._error(field, "Localhost, and only Localhost, names a profile of the node")
        if local is not None:
            value["localhostProfile"] = self._text(field, local)
        return self._put(field, value)


class SecurityContext(_Identity):
    """What a container's processes may do."""

    __slots__ = ()

    @classmethod
    def restricted(cls) -> Self:
        """All that the Pod Security Standard "restricted" asks of a container."""
        made = cls().run_as_non_root().allow_privilege_escalation(False)
        return made.drop_capabilities("ALL").seccomp_profile("RuntimeDefault")

    def read_only_root_filesystem(self, value: bool = True) -> Self:
        return self._put("readOnlyRootFilesystem", self._flag("readOnlyRootFilesystem", value))

    def allow_privilege_escalation(self, value: bool = True) -> Self:
        self._object["allowPrivilegeEscalation"] = self._flag("allowPrivilegeEscalation", value)
        return self._check_privileges()

    def privileged(self, value: bool = True) -> Self:
        self._object["privileged"] = self._flag("privileged", value)
        return self._check_privileges()

    def add_capabilities(self, *capabilities: str | Iterable[str]) -> Self:
        """Linux capabilities without their CAP_ prefix: `add_capabilities("NET_BIND_SERVICE")`."""
        return self._capabilities("add", capabilities)

    def drop_capabilities(self, *capabilities: str | Iterable[str]) -> Self:
        return self._capabilities("drop", capabilities)

    def _capabilities(self, change: str, capabilities: Iterable[str | Iterable[str]]) -> Self:
        field = f"capabilities.{change}"
        names = self._object.setdefault("capabilities", {}).setdefault(change, [])
        for name in self._texts(field, capabilities):
            if name.startswith("CAP_"):
                raise self._error(field, f"{name!r} goes without CAP_ here")
            if name not in names:
                names.append(name)
        return self

    def _check_privileges(self) -> Self:
        if self._object.get("privileged") and self._object.get("allowPrivilegeEscalation") is False:
            problem = "a privileged container can always escalate; it cannot be forbidden"
            raise self._error("allowPrivilegeEscalation", problem)
        return self


class PodSecurityContext(_Identity):
    """What holds for all containers of a pod and for its volumes."""

    __slots__ = ()

    @classmethod
    def restricted(cls) -> Self:
        """What the Pod Security Standard "restricted" lets a pod say for all its containers."""
        return cls().run_as_non_root().seccomp_profile("RuntimeDefault")

    def fs_group(self, gid: int, change_policy: PodFSGroupChangePolicy | None = None) -> Self:
        """The group that owns the pod's volumes."""
        self._object["fsGroup"] = self._count("fsGroup", gid)
        if change_policy is not None:
            field = "fsGroupChangePolicy"
            self._object[field] = self._choice(field, change_policy, _GROUP_CHANGES)
        return self

    def supplemental_groups(self, *gids: int) -> Self:
        field = "supplementalGroups"
        return self._put_or_drop(field, [self._count(field, gid) for gid in gids])

    def sysctl(self, name: str, value: str) -> Self:
        sysctls = self._object.setdefault("sysctls", [])
        sysctls.append({"name": self._text("sysctls", name), "value": self._text("sysctls", value)})
        return self
