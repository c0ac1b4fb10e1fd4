"""Pods as objects: creation and update.

What may change in a running pod is little; a refused change is answered with its difference in the
form of Kubernetes' internal types.
"""

from __future__ import annotations

from typing import Any, Final

from steersman.cluster.schema.validation.pods.affinity import validate_tolerations
from steersman.cluster.schema.validation.pods.annotations import (
    validate_annotation_update,
    validate_pod_annotations,
    validate_profiles_match,
)
from steersman.cluster.schema.validation.pods.containers import validate_image_spacing
from steersman.cluster.schema.validation.pods.internal import internal_diff, internal_form, semantically_equal
from steersman.cluster.schema.validation.pods.spec import validate_pod_spec
from steersman.cluster.schema.validation.rules import foreign_finalizers
from steersman.objects.fields import FieldError, Path, forbidden, invalid, required
from steersman.objects.kinds import Object
from steersman.objects.metadata import validate_nonnegative, validate_object_meta
from steersman.objects.names import name_is_dns_subdomain, range_message

__all__ = ["validate_new_pod", "validate_pod_update", "validate_whole_pod"]

_SPEC: Final = Path("spec")
_ANNOTATIONS: Final = Path("metadata").child("annotations")
_MAX_INT32: Final = 2**31 - 1
_REQUIRED_AFFINITY: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_UPDATABLE: Final = ",".join(
    (
        "`spec.containers[*].image`",
        "`spec.initContainers[*].image`",
        "`spec.activeDeadlineSeconds`",
        "`spec.tolerations` (only additions to existing tolerations)",
        "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
    )
)


def validate_new_pod(pod: Object, path: Path) -> list[FieldError]:
    spec: Object = pod["spec"]
    errors = _validate_content(pod)
    if spec.get("ephemeralContainers"):
        errors.append(forbidden(_SPEC.child("ephemeralContainers"), "cannot be set on create"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        text = "cannot be set until all schedulingGates have been cleared"
        errors.append(forbidden(_SPEC.child("nodeName"), text))
    annotations = pod["metadata"].get("annotations")
    return errors + validate_profiles_match(annotations, spec, _SPEC) if annotations else errors


def validate_whole_pod(pod: Object) -> list[FieldError]:
    """Metadata and spec, as every update of a pod looks at them again."""
    return _validate_metadata(pod) + _validate_content(pod)


def _validate_metadata(pod: Object) -> list[FieldError]:
    metadata = pod["metadata"]
    errors = validate_object_meta(metadata, namespaced=True, name_check=name_is_dns_subdomain)
    return errors + foreign_finalizers(metadata)


def _validate_content(pod: Object) -> list[FieldError]:
    metadata, spec = pod["metadata"], pod["spec"]
    errors: list[FieldError] = []
    if annotations := metadata.get("annotations"):
        errors += validate_pod_annotations(annotations, spec, _ANNOTATIONS)
    errors += validate_pod_spec(spec, _SPEC, metadata, is_pod=True)
    if not spec.get("serviceAccountName"):
        errors += _forbid_tokens(spec.get("volumes") or [])
    seconds = spec.get("terminationGracePeriodSeconds")
    if seconds is not None and seconds < 0:
        errors += validate_nonnegative(seconds, _SPEC.child("terminationGracePeriodSeconds"))
    for kind in ("containers", "initContainers"):
        errors += validate_image_spacing(spec.get(kind) or [], _SPEC.child(kind))
    return errors


def _forbid_tokens(volumes: list[Object]) -> list[FieldError]:
    """A token is of a service account, so there must be one."""
    text = "must not be specified when serviceAccountName is not set"
    return [
        forbidden(
            _SPEC.child("volumes")
            .index(number)
            .child("projected", "sources")
            .index(index)
            .child("serviceAccountToken"),
            text,
        )
        for number, volume in enumerate(volumes)
        for index, source in enumerate((volume.get("projected") or {}).get("sources") or ())
        if source.get("serviceAccountToken") is not None
    ]


# --- Update


def validate_pod_update(new: Object, path: Path, old: Object) -> list[FieldError]:
    spec, before = new["spec"], old["spec"]
    if spec == before:
        # It was valid when it was stored, and nothing in it depends on what else may change.
        return _validate_metadata(new) + validate_annotation_update(new, old, _ANNOTATIONS)
    errors = validate_whole_pod(new)
    errors += validate_annotation_update(new, old, _ANNOTATIONS)
    for kind in ("containers", "initContainers"):
        wrong = _validate_images(spec.get(kind) or [], before.get(kind) or [], _SPEC.child(kind))
        errors += wrong
        if len(spec.get(kind) or ()) != len(before.get(kind) or ()):
            return errors
    wrong, stop = _validate_deadline(spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds"))
    errors += wrong
    if stop:
        return errors
    errors += _validate_added_tolerations(spec.get("tolerations") or [], before.get("tolerations") or [])
    errors += _validate_removed_gates(spec.get("schedulingGates") or [], before.get("schedulingGates") or [])
    if semantically_equal("PodSpec", spec, before):
        return errors
    masked = _masked(spec, before)
    if before.get("schedulingGates"):
        errors += _validate_gated(masked, before)
    if not semantically_equal("PodSpec", masked, before):
        difference = internal_diff("PodSpec", before, masked)
        text = f"pod updates may not change fields other than {_UPDATABLE}\n{difference}"
        errors.append(forbidden(_SPEC, text))
    return errors


def _validate_images(new: list[Object], old: list[Object], path: Path) -> list[FieldError]:
    if len(new) != len(old):
        return [forbidden(path, "pod updates may not add or remove containers")]
    errors: list[FieldError] = [
        required(path.index(number).child("image"))
        for number, container in enumerate(new)
        if not container.get("image")
    ]
    return errors + validate_image_spacing(new, path)


def _validate_deadline(new: int | None, old: int | None) -> tuple[list[FieldError], bool]:
    """A deadline may be set and brought forward. The flag says that nothing else is looked at."""
    path = _SPEC.child("activeDeadlineSeconds")
    if new is None:
        text = "must not update from a positive integer to nil value"
        return ([] if old is None else [invalid(path, None, text)]), False
    if not 0 <= new <= _MAX_INT32:
        return [invalid(path, new, range_message(0, _MAX_INT32))], True
    if old is not None and old < new:
        return [invalid(path, new, "must be less than or equal to previous value")], True
    return [], False


def _validate_added_tolerations(new: list[Object], old: list[Object]) -> list[FieldError]:
    path = _SPEC.child("tolerations")
    kept = [_without(toleration, "tolerationSeconds") for toleration in new]
    if any(_without(toleration, "tolerationSeconds") not in kept for toleration in old):
        return [forbidden(path, "existing toleration can not be modified except its tolerationSeconds")]
    return validate_tolerations(new, path)


def _validate_removed_gates(new: list[Object], old: list[Object]) -> list[FieldError]:
    known = {gate.get("name") for gate in old}
    path = _SPEC.child("schedulingGates")
    return [
        forbidden(
            path.index(number).child("name"),
            f"only deletion is allowed, but found new scheduling gate '{gate.get('name', '')}'",
        )
        for number, gate in enumerate(new)
        if gate.get("name") not in known
    ]


def _without(obj: Object, field: str) -> Object:
    return {key: value for key, value in obj.items() if key != field}


def _masked(spec: Object, before: Object) -> Object:
    """`spec` with what may change put back to what it was."""
    masked = dict(spec)
    for kind in ("containers", "initContainers"):
        if spec.get(kind):
            masked[kind] = [
                _restored(container, previous, "image")
                for container, previous in zip(spec[kind], before[kind], strict=True)
            ]
    for field in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        masked = _restored(masked, before, field)
    if before.get("terminationGracePeriodSeconds", 0) < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        masked = _restored(masked, before, "terminationGracePeriodSeconds")
    return masked


def _restored(obj: Object, before: Object, field: str) -> Object:
    restored = _without(obj, field)
    if field in before:
        restored[field] = before[field]
    return restored


def _validate_gated(masked: Object, before: Object) -> list[FieldError]:
    """A pod that waits at a gate may be restricted to fewer nodes; `masked` leaves that out."""
    errors: list[FieldError] = []
    labels, old_labels = masked.get("nodeSelector") or {}, before.get("nodeSelector") or {}
    if labels != old_labels:
        if not old_labels.items() <= labels.items():
            text = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
            errors.append(invalid(_SPEC.child("nodeSelector"), labels or None, text))
        masked.pop("nodeSelector", None)
        if old_labels:
            masked["nodeSelector"] = old_labels
    affinity, old_affinity = masked.get("affinity"), before.get("affinity")
    node, old_node = (affinity or {}).get("nodeAffinity"), (old_affinity or {}).get("nodeAffinity")
    if semantically_equal("*NodeAffinity", old_node, node):
        return errors
    errors += _validate_narrowed(node or {}, old_node or {})
    restored = _restored(affinity or {}, old_affinity or {}, "nodeAffinity")
    if old_affinity is None and not restored:
        masked.pop("affinity", None)
    else:
        masked["affinity"] = restored
    return errors


def _validate_narrowed(node: Object, old_node: Object) -> list[FieldError]:
    old_terms: list[Object] = (old_node.get(_REQUIRED_AFFINITY) or {}).get("nodeSelectorTerms") or []
    terms: list[Object] = (node.get(_REQUIRED_AFFINITY) or {}).get("nodeSelectorTerms") or []
    path = _SPEC.child("affinity", "nodeAffinity", _REQUIRED_AFFINITY, "nodeSelectorTerms")
    if not old_terms:
        return []
    if len(terms) != len(old_terms):
        shown: Any = internal_form("[]NodeSelectorTerm", terms or None)
        return [
            invalid(path, shown, "no additions/deletions to non-empty NodeSelectorTerms list are allowed")
        ]
    return [
        invalid(
            path.index(number),
            internal_form("NodeSelectorTerm", term),
            "only additions are allowed (no mutations or deletions)",
        )
        for number, (term, old_term) in enumerate(zip(terms, old_terms, strict=True))
        if not _only_adds(term, old_term)
    ]


def _only_adds(term: Object, old_term: Object) -> bool:
    fields = ("matchExpressions", "matchFields")
    # An empty term matches no node; adding to it would widen where the pod may run.
    if not any(old_term.get(field) for field in fields):
        return not any(term.get(field) for field in fields)
    return all(
        (term.get(field) or [])[: len(old_term.get(field) or ())] == (old_term.get(field) or [])
        for field in fields
    )
