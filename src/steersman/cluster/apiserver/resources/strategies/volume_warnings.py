"""Warnings about volumes: retired plugins, files that would lie over one another, fractional sizes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from steersman.objects.fields import Path, quote
from steersman.objects.kinds import Object
from steersman.objects.quantities import Quantity

__all__ = ["claim_warnings", "fraction_warning", "persistent_plugin_warnings", "volume_warnings"]

_RETIRED: Final = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
#: These two pass in a PersistentVolume, about which there is no warning.
_SILENT_IN_PERSISTENT_VOLUMES: Final = ("flocker", "quobyte")
#: The warning names this plugin by its Go name.
_SHOWN: Final = {"storageos": "storageOS"}


def fraction_warning(resources: Object | None, name: str, path: Path) -> list[str]:
    """Bytes come in whole numbers; a fraction is nearly always a wrong suffix ("m" for "M")."""
    text = (resources or {}).get(name)
    # A fraction in canonical spelling ends in m (rounding removed anything finer) or keeps its point.
    if text is None or not (text[-1] == "m" or "." in text or "e-" in text):
        return []
    if Quantity.parse(text).milli_value % 1000 == 0:
        return []
    return [f"{path.key(name)}: fractional byte value {quote(text)} is invalid, must be an integer"]


def claim_warnings(spec: Object, path: Path) -> list[str]:
    resources = spec.get("resources") or {}
    return [
        warning
        for kind in ("requests", "limits")
        for warning in fraction_warning(resources.get(kind), "storage", path.child("resources", kind))
    ]


def plugin_warnings(source: Object, path: Path) -> list[str]:
    return [f"{path.child(_SHOWN.get(name, name))}: {_RETIRED[name]}" for name in source if name in _RETIRED]


def persistent_plugin_warnings(spec: Object, path: Path) -> list[str]:
    told = {name: value for name, value in spec.items() if name not in _SILENT_IN_PERSISTENT_VOLUMES}
    return plugin_warnings(told, path)


def volume_warnings(volumes: list[Object], path: Path) -> list[str]:
    warnings: list[str] = []
    for index, volume in enumerate(volumes):
        warnings += plugin_warnings(volume, path.index(index))
        if template := (volume.get("ephemeral") or {}).get("volumeClaimTemplate"):
            here = path.index(index).child("ephemeral", "volumeClaimTemplate", "spec")
            warnings += claim_warnings(template["spec"], here)
    for volume in volumes:
        warnings += _overlaps(volume)
    return warnings


def _overlaps(volume: Object) -> Iterator[str]:
    name = quote(volume.get("name", ""))
    for kind, source in volume.items():
        if kind == "projected":
            sources = source.get("sources") or ()
            yield from (f"volume {name} (Projected) has no sources provided" for item in sources if not item)
            described, paths = "Projected", [path for item in sources for path in _projected_paths(item)]
        elif kind in ("configMap", "secret", "downwardAPI"):
            described = _describe(kind, source.get("secretName" if kind == "secret" else "name", ""))
            paths = [(item.get("path", ""), "") for item in source.get("items") or ()]
        else:
            continue
        for text in _collisions(paths):
            yield f"volume {name} ({described}): overlapping paths: {text}"


def _describe(kind: str, name: str) -> str:
    if kind == "downwardAPI":
        return "DownwardAPI"
    return f"{ {'configMap': 'ConfigMap', 'secret': 'Secret'}[kind] } {quote(name)}"


def _projected_paths(source: Object) -> Iterator[tuple[str, str]]:
    for kind in ("configMap", "secret", "downwardAPI"):
        if items := (source.get(kind) or {}).get("items"):
            origin = _describe(kind, source[kind].get("name", ""))
            yield from ((item.get("path", ""), origin) for item in items)
            return
    if (token := source.get("serviceAccountToken")) is not None:
        yield token.get("path", ""), "ServiceAccountToken"
    elif (bundle := source.get("clusterTrustBundle")) is not None:
        name = bundle.get("name") if bundle.get("name") is not None else bundle.get("signerName", "")
        yield bundle.get("path", ""), f"ClusterTrustBundle {quote(name)}"
    elif (certificate := source.get("podCertificate")) is not None:
        for key, part in (
            ("certificateChainPath", "chain"),
            ("keyPath", "key"),
            ("credentialBundlePath", "credential bundle"),
        ):
            if certificate.get(key):
                yield certificate[key], f"PodCertificate {part}"


def _collisions(paths: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Each path that equals, contains or lies below one before it."""
    seen: list[tuple[str, str]] = []
    for path, origin in paths:
        path = path.rstrip("/")
        for other, other_origin in seen:
            if path and other and (f"{path}/".startswith(f"{other}/") or f"{other}/".startswith(f"{path}/")):
                yield f"{_shown(path, origin)} with {_shown(other, other_origin)}"
        seen.append((path, origin))


def _shown(path: str, origin: str) -> str:
    return f"{quote(path)} ({origin})" if origin else quote(path)
