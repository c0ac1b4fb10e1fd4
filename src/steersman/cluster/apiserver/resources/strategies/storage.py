"""Strategies of volumes, claims and storage drivers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from steersman.cluster.apiserver.resources.strategies import node_labels
from steersman.cluster.apiserver.resources.strategies.strategy import (
    Prepare,
    Strategy,
    keep,
    spec_of,
    status_endpoint,
)
from steersman.cluster.apiserver.resources.strategies.volume_warnings import (
    claim_warnings,
    persistent_plugin_warnings,
)
from steersman.objects.fields import Path
from steersman.objects.kinds import Object
from steersman.objects.times import format_time

__all__ = ["STORAGE"]

_BETA_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_CLASS_TEXT: Final = 'deprecated since v1.8; use "storageClassName" attribute instead'
_VOLUME_ANNOTATIONS: Final = {
    _BETA_CLASS: _CLASS_TEXT,
    "volume.beta.kubernetes.io/mount-options": 'deprecated since v1.31; use "mountOptions" attribute instead',
}
_TOKENS_IN_SECRETS: Final = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, "
    "set to true to prevent possible logging of tokens in volume attributes"
)


# --- Persistent volumes


def _stamp_phase(volume: Object) -> None:
    volume["status"]["lastPhaseTransitionTime"] = format_time(datetime.now(UTC))


def _update_volume_status(new: Object, old: Object) -> None:
    """The time of the last phase change is the server's to keep, unless a client gives a new one."""
    status, before = new["status"], old["status"]
    stamp = status.get("lastPhaseTransitionTime")
    if status.get("phase") == before.get("phase"):
        if stamp is None:
            keep(status, before, "lastPhaseTransitionTime")
    elif stamp is None or stamp == before.get("lastPhaseTransitionTime"):
        _stamp_phase(new)


def _volume_warnings(volume: Object) -> list[str]:
    spec, path = volume["spec"], Path("spec")
    notes = Path("metadata").child("annotations")
    annotations = volume["metadata"].get("annotations") or ()
    warnings = [
        f"{notes.key(key)}: {text}" for key, text in _VOLUME_ANNOTATIONS.items() if key in annotations
    ]
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        warnings.append(
            f"{path.child('persistentVolumeReclaimPolicy')}: The Recycle reclaim policy is deprecated. "
            "Instead, the recommended approach is to use dynamic provisioning."
        )
    required = (spec.get("nodeAffinity") or {}).get("required") or {}
    terms = path.child("nodeAffinity", "required", "nodeSelectorTerms")
    for index, term in enumerate(required.get("nodeSelectorTerms") or ()):
        warnings += node_labels.term_warnings(term, terms.index(index))
    return warnings + persistent_plugin_warnings(spec, path)


# --- Claims


def _sync_data_sources(spec: Object) -> None:
    """dataSource is the older, narrower name of dataSourceRef: both say the same where they can."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is None:
        spec["dataSourceRef"] = dict(source)
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = {key: value for key, value in reference.items() if key != "namespace"}


def _is_classic_source(source: Object | None) -> bool:
    kinds = (("PersistentVolumeClaim", ""), ("VolumeSnapshot", "snapshot.storage.k8s.io"))
    return source is not None and (source.get("kind"), source.get("apiGroup") or "") in kinds


def _prepare_claim(claim: Object, old_spec: Object | None = None) -> None:
    spec: Object = claim["spec"]
    old_spec = old_spec or {}
    # Sources in other namespaces are not supported, and what is not supported is dropped, not refused.
    if (spec.get("dataSourceRef") or {}).get("namespace") and old_spec.get("dataSourceRef") is None:
        del spec["dataSourceRef"]
    had_source = old_spec.get("dataSource") is not None or old_spec.get("dataSourceRef") is not None
    if (
        not had_source
        and spec.get("dataSourceRef") is None
        and not _is_classic_source(spec.get("dataSource"))
    ):
        spec.pop("dataSource", None)
    _sync_data_sources(spec)


def _claim_warnings(claim: Object) -> list[str]:
    warnings = claim_warnings(claim["spec"], Path("spec"))
    if _BETA_CLASS in (claim["metadata"].get("annotations") or ()):
        place = Path("metadata").child("annotations").key(_BETA_CLASS)
        warnings.insert(0, f"{place}: {_CLASS_TEXT}")
    return warnings


# --- storage.k8s.io


def _drop_health(key: str) -> Prepare:
    """Volume health reporting is off, so its field is kept only where it already is."""

    def prepare(new: Object, old: Object) -> None:
        if not old["status"].get(key):
            new["status"].pop(key, None)

    return prepare


def _driver_warnings(driver: Object, old: Object | None = None) -> list[str]:
    spec = driver["spec"]
    requests = spec.get("tokenRequests")
    if old is not None and requests == old["spec"].get("tokenRequests"):
        return []
    return [_TOKENS_IN_SECRETS] if requests and spec.get("serviceAccountTokenInSecrets") is None else []


def _storage_class_warnings(storage_class: Object) -> list[str]:
    path = Path("allowedTopologies")
    return [
        f"{path.index(i).child('matchLabelExpressions').index(j).child('key')}: {node_labels.DEPRECATED[key]}"
        for i, topology in enumerate(storage_class.get("allowedTopologies") or ())
        for j, expression in enumerate(topology.get("matchLabelExpressions") or ())
        if (key := expression.get("key", "")) in node_labels.DEPRECATED
    ]


def _capacity_warnings(capacity: Object) -> list[str]:
    return node_labels.selector_warnings(capacity.get("nodeTopology"), Path("nodeTopology"))


_GROUP: Final = "storage.k8s.io"

STORAGE: Final = (
    Strategy(
        "",
        "persistentvolumes",
        returns_deleted=True,
        zero_status={"phase": "Pending"},
        on_create=_stamp_phase,
        create_warnings=_volume_warnings,
        update_warnings=lambda new, old: _volume_warnings(new),
        reset_fields=("status",),
        subresources={"status": status_endpoint(also=_update_volume_status)},
    ),
    Strategy(
        "",
        "persistentvolumeclaims",
        returns_deleted=True,
        zero_status={"phase": "Pending"},
        on_create=_prepare_claim,
        on_update=lambda new, old: _prepare_claim(new, old["spec"]),
        create_warnings=_claim_warnings,
        update_warnings=lambda new, old: _claim_warnings(new),
        reset_fields=("status",),
        subresources={"status": status_endpoint(also=_drop_health("healthStatus"))},
    ),
    Strategy(
        _GROUP,
        "storageclasses",
        returns_deleted=True,
        create_warnings=_storage_class_warnings,
        update_warnings=lambda new, old: _storage_class_warnings(new),
    ),
    Strategy(_GROUP, "volumeattributesclasses", returns_deleted=True),
    Strategy(
        _GROUP,
        "csidrivers",
        returns_deleted=True,
        generation=spec_of,
        starts_generation=False,
        create_warnings=_driver_warnings,
        update_warnings=_driver_warnings,
        allow_unconditional_update=False,
    ),
    Strategy(
        _GROUP,
        "csinodes",
        returns_deleted=True,
        zero_status={},
        reset_fields=("status",),
        subresources={"status": status_endpoint("metadata", also=_drop_health("storageHealth"))},
        allow_unconditional_update=False,
    ),
    Strategy(
        _GROUP,
        "csistoragecapacities",
        create_warnings=_capacity_warnings,
        update_warnings=lambda new, old: _capacity_warnings(new),
        allow_unconditional_update=False,
    ),
    Strategy(
        _GROUP,
        "volumeattachments",
        returns_deleted=True,
        zero_status={"attached": False},
        reset_fields=("status",),
        subresources={"status": status_endpoint("metadata")},
        allow_unconditional_update=False,
    ),
)
