"""The files of ConfigMap, Secret and downward API volumes. Pure.

Each function returns path → file. Raises `VolumeProblem` with the kubelet's words.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from steersman.cluster.node.downward import DownwardNodeFacts, UnknownFieldRef, field_value, resource_value
from steersman.cluster.node.volumes.atomic import File
from steersman.cluster.node.volumes.errors import VolumeProblem
from steersman.objects.kinds.types.core_v1 import Pod

__all__ = ["DEFAULT_MODE", "Files", "config_map_files", "downward_files", "secret_files"]

Files = dict[str, File]

DEFAULT_MODE: Final = 0o644


def config_map_files(
    found: Mapping[str, Any], items: Sequence[Mapping[str, Any]], mode: int, *, optional: bool
) -> Files:
    entries = {key: text.encode() for key, text in (found.get("data") or {}).items()}
    entries |= {key: b64decode(text) for key, text in (found.get("binaryData") or {}).items()}
    return _chosen(
        entries, items, mode, "configmap references non-existent config key: " if not optional else ""
    )


def secret_files(
    found: Mapping[str, Any], items: Sequence[Mapping[str, Any]], mode: int, *, optional: bool
) -> Files:
    entries = {key: b64decode(text) for key, text in (found.get("data") or {}).items()}
    return _chosen(entries, items, mode, "references non-existent secret key: " if not optional else "")


def _chosen(
    entries: Mapping[str, bytes], items: Sequence[Mapping[str, Any]], mode: int, complaint: str
) -> Files:
    """All entries, or those that items choose; without a complaint one may be missing."""
    if not items:
        return {key: File(data, mode) for key, data in entries.items()}
    files: Files = {}
    for item in items:
        key = item["key"]
        if key in entries:
            files[item["path"]] = File(entries[key], _mode(item, mode))
        elif complaint:
            raise VolumeProblem(f"{complaint}{key}")
    return files


def downward_files(pod: Pod, items: Iterable[Mapping[str, Any]], mode: int, node: DownwardNodeFacts) -> Files:
    files: Files = {}
    for item in items:
        try:
            if (reference := item.get("fieldRef")) is not None:
                text = field_value(pod, reference["fieldPath"], (), node)
            elif (reference := item.get("resourceFieldRef")) is not None:
                text = resource_value(pod, None, reference, node)
            else:
                text = ""
        except UnknownFieldRef as error:
            raise VolumeProblem(str(error)) from error
        files[item["path"]] = File(text.encode(), _mode(item, mode))
    return files


def _mode(item: Mapping[str, Any], default: int) -> int:
    mode = item.get("mode")
    return default if mode is None else int(mode)
