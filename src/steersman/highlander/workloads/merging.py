"""`podTemplatePatch`: a strategic merge into a pod template, by the merge keys of Kubernetes' pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from steersman.highlander.errors import ConfigError
from steersman.objects.errors import ObjectError
from steersman.objects.patches import strategic
from steersman.objects.schemas import ANY, Schema

__all__ = ["patched"]


def _list(key: str, item: Schema) -> Schema:
    return Schema(
        "list", values=item, list_type="map", keys=(key,), patch_strategies=("merge",), patch_merge_key=key
    )


def _struct(**fields: Schema) -> Schema:
    return Schema("struct", properties=dict(fields), preserves_unknown=True)


_MAP: Final = Schema("map", values=ANY)
_CONTAINER: Final = _struct(
    env=_list("name", _struct()),
    ports=_list("containerPort", _struct()),
    volumeMounts=_list("mountPath", _struct()),
    volumeDevices=_list("devicePath", _struct()),
    resources=_struct(requests=_MAP, limits=_MAP),
    securityContext=_struct(),
)
_CONTAINERS: Final = _list("name", _CONTAINER)
_TEMPLATE: Final = _struct(
    metadata=_struct(labels=_MAP, annotations=_MAP),
    spec=_struct(
        containers=_CONTAINERS,
        initContainers=_CONTAINERS,
        volumes=_list("name", _struct()),
        imagePullSecrets=_list("name", _struct()),
        hostAliases=_list("ip", _struct()),
        topologySpreadConstraints=_list("topologyKey", _struct()),
        nodeSelector=_MAP,
        securityContext=_struct(),
        affinity=_struct(),
    ),
)


def patched(template: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Raises ConfigError."""
    try:
        return strategic.apply(template, dict(patch), _TEMPLATE)
    except ObjectError as error:
        raise ConfigError(f"podTemplatePatch: {error}") from error
