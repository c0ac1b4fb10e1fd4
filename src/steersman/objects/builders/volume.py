"""Volume: where the files come from that a pod's containers mount. `Volume.pvc("data", "my-claim")`.

A volume of a kind without a method here is `Volume("name").raw("iscsi", {...})`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self, get_args

from steersman.objects.builders.part import Part
from steersman.objects.builders.storage import PersistentVolumeClaim
from steersman.objects.kinds.enums import PullPolicy
from steersman.objects.names import is_config_map_key, is_dns1123_label

__all__ = ["ProjectedVolume", "Volume"]

Medium = Literal["", "Memory", "HugePages", "HugePages-2Mi", "HugePages-1Gi"]
HostPathType = Literal[
    "", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice"
]
_MEDIUMS = get_args(Medium)
_HOST_PATH_TYPES = get_args(HostPathType)
_PULL_POLICIES = get_args(PullPolicy)
_MODE_MAX = 0o777


class _Files(Part):
    """The sources that show keys and fields as files, alone or projected together."""

    __slots__ = ()

    def _keys(self, field: str, items: Mapping[str, str] | None, mode: int | None) -> dict[str, Any]:
        """Key → path, for those keys that are wanted."""
        made: dict[str, Any] = {}
        if items:
            made["items"] = [
                {"key": self._name(field, key, is_config_map_key), "path": self._text(field, path)}
                for key, path in items.items()
            ]
        if mode is not None:
            made["defaultMode"] = self._count(field, mode, 0, _MODE_MAX)
        return made

    def _fields(self, field: str, files: Mapping[str, str]) -> list[dict[str, Any]]:
        """Path → field of the pod (`metadata.labels`) or `container:limits.cpu`."""
        made = []
        for path, source in files.items():
            container, colon, resource = self._text(field, source).partition(":")
            reference: dict[str, Any] = (
                {"resourceFieldRef": {"containerName": container, "resource": resource}}
                if colon
                else {"fieldRef": {"fieldPath": source}}
            )
            made.append({"path": self._text(field, path), **reference})
        return made


class Volume(_Files):
    """One volume of a pod."""

    __slots__ = ()

    def __init__(self, name: str) -> None:
        self._object = {"name": name}
        self._name("name", name, is_dns1123_label)

    @classmethod
    def pvc(cls, name: str, claim: str, *, read_only: bool = False) -> Self:
        """What a PersistentVolumeClaim of the same namespace holds."""
        made = cls(name)
        source = {"claimName": made._name("persistentVolumeClaim.claimName", claim)}
        return made._source("persistentVolumeClaim", source, readOnly=read_only)

    @classmethod
    def empty_dir(
        cls, name: str, *, medium: Medium = "", size_limit: str | int | float | None = None
    ) -> Self:
        """An empty directory that lives as long as the pod."""
        made = cls(name)
        source: dict[str, Any] = {}
        if made._choice("emptyDir.medium", medium, _MEDIUMS):
            source["medium"] = medium
        if size_limit is not None:
            source["sizeLimit"] = made._quantity("emptyDir.sizeLimit", size_limit)
        return made._source("emptyDir", source)

    @classmethod
    def config_map(
        cls,
        name: str,
        config_map: str,
        *,
        items: Mapping[str, str] | None = None,
        mode: int | None = None,
        optional: bool = False,
    ) -> Self:
        """The keys of a ConfigMap as files; `items` says which keys under which paths."""
        made = cls(name)
        source = {"name": made._name("configMap.name", config_map)}
        return made._source(
            "configMap", {**source, **made._keys("configMap", items, mode)}, optional=optional
        )

    @classmethod
    def secret(
        cls,
        name: str,
        secret: str,
        *,
        items: Mapping[str, str] | None = None,
        mode: int | None = None,
        optional: bool = False,
    ) -> Self:
        """The keys of a Secret as files; `items` says which keys under which paths."""
        made = cls(name)
        source = {"secretName": made._name("secret.secretName", secret)}
        return made._source("secret", {**source, **made._keys("secret", items, mode)}, optional=optional)

    @classmethod
    def downward_api(cls, name: str, files: Mapping[str, str], *, mode: int | None = None) -> Self:
        """Facts about the pod as files: `{"labels": "metadata.labels", "cpus": "app:limits.cpu"}`."""
        made = cls(name)
        source = made._keys("downwardAPI", None, mode)
        source["items"] = made._fields("downwardAPI.items", files)
        return made._source("downwardAPI", source)

    @classmethod
    def host_path(cls, name: str, path: str, type: HostPathType = "") -> Self:  # noqa: A002 - the API's word
        """A file or directory of the node."""
        made = cls(name)
        source = {"path": made._text("hostPath.path", path)}
        if made._choice("hostPath.type", type, _HOST_PATH_TYPES):
            source["type"] = type
        return made._source("hostPath", source)

    @classmethod
    def ephemeral(cls, name: str, claim: PersistentVolumeClaim) -> Self:
        """A claim that is made and deleted with the pod; its own name does not matter."""
        made = cls(name)
        if not isinstance(claim, PersistentVolumeClaim):
            raise made._error("ephemeral", f"must be a PersistentVolumeClaim, not {claim!r}")
        whole = claim.to_object()
        metadata = {
            key: whole["metadata"][key] for key in ("labels", "annotations") if key in whole["metadata"]
        }
        template = {**({"metadata": metadata} if metadata else {}), "spec": whole["spec"]}
        return made._source("ephemeral", {"volumeClaimTemplate": template})

    @classmethod
    def csi(
        cls,
        name: str,
        driver: str,
        *,
        attributes: Mapping[str, str] | None = None,
        fs_type: str | None = None,
        read_only: bool = False,
        secret: str | None = None,
    ) -> Self:
        """A volume a CSI driver makes for this pod alone."""
        made = cls(name)
        source: dict[str, Any] = {"driver": made._text("csi.driver", driver)}
        if attributes:
            made._texts("csi.volumeAttributes", attributes.values())
            source["volumeAttributes"] = dict(attributes)
        if fs_type is not None:
            source["fsType"] = made._text("csi.fsType", fs_type)
        if secret is not None:
            source["nodePublishSecretRef"] = {"name": made._name("csi.nodePublishSecretRef", secret)}
        return made._source("csi", source, readOnly=read_only)

    @classmethod
    def nfs(cls, name: str, server: str, path: str, *, read_only: bool = False) -> Self:
        made = cls(name)
        source = {"server": made._text("nfs.server", server), "path": made._text("nfs.path", path)}
        if not path.startswith("/"):
            raise made._error("nfs.path", f"must begin with /, not {path!r}")
        return made._source("nfs", source, readOnly=read_only)

    @classmethod
    def image(cls, name: str, reference: str, *, pull_policy: PullPolicy | None = None) -> Self:
        """The files of an OCI image or artifact, read-only."""
        made = cls(name)
        source = {"reference": made._text("image.reference", reference)}
        if pull_policy is not None:
            source["pullPolicy"] = made._choice("image.pullPolicy", pull_policy, _PULL_POLICIES)
        return made._source("image", source)

    @classmethod
    def projected(cls, name: str, *, mode: int | None = None) -> ProjectedVolume:
        """Several sources in one directory: `Volume.projected("all").config_map_files("settings")…`."""
        return ProjectedVolume(name, mode=mode)

    def _source(self, field: str, source: dict[str, Any], **flags: bool) -> Self:
        for flag, value in flags.items():
            if self._flag(f"{field}.{flag}", value):
                source[flag] = True
        return self._put(field, source)


class ProjectedVolume(Volume):
    """Files of several sources in one directory."""

    __slots__ = ()

    def __init__(self, name: str, *, mode: int | None = None) -> None:
        super().__init__(name)
        self._object["projected"] = {**self._keys("projected", None, mode), "sources": []}

    def config_map_files(
        self, config_map: str, *, items: Mapping[str, str] | None = None, optional: bool = False
    ) -> Self:
        return self._holder("configMap", config_map, items, optional)

    def secret_files(
        self, secret: str, *, items: Mapping[str, str] | None = None, optional: bool = False
    ) -> Self:
        return self._holder("secret", secret, items, optional)

    def downward_api_files(self, files: Mapping[str, str]) -> Self:
        """As in `Volume.downward_api`."""
        return self._add("downwardAPI", {"items": self._fields("projected.downwardAPI", files)})

    def service_account_token(
        self, path: str, *, audience: str | None = None, expiration: int | None = None
    ) -> Self:
        """A token that the kubelet renews; `expiration` in seconds, at least 600."""
        field = "projected.serviceAccountToken"
        source: dict[str, Any] = {"path": self._text(field, path)}
        if audience is not None:
            source["audience"] = self._text(field, audience)
        if expiration is not None:
            source["expirationSeconds"] = self._count(field, expiration, 600, 2**32)
        return self._add("serviceAccountToken", source)

    def _holder(self, field: str, name: str, items: Mapping[str, str] | None, optional: bool) -> Self:
        where = f"projected.{field}"
        source: dict[str, Any] = {"name": self._name(where, name), **self._keys(where, items, None)}
        if self._flag(where, optional):
            source["optional"] = True
        return self._add(field, source)

    def _add(self, field: str, source: dict[str, Any]) -> Self:
        self._object["projected"]["sources"].append({field: source})
        return self
