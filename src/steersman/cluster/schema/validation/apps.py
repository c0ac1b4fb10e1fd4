"""Controllers of the apps group: Deployment, ReplicaSet, StatefulSet, DaemonSet, ControllerRevision."""

from __future__ import annotations

from typing import Any, Final

from steersman.cluster.schema.validation.pods.annotations import validate_pod_annotations
from steersman.cluster.schema.validation.pods.internal import internal_form, semantically_equal
from steersman.cluster.schema.validation.pods.template import (
    selector_of,
    validate_always_restarting,
    validate_pod_template,
    validate_replica_counts,
    validate_template_labels,
)
from steersman.cluster.schema.validation.rules import Object, Rules, invalids
from steersman.cluster.schema.validation.storage_core import validate_claim_spec
from steersman.objects.fields import FieldError, Path, forbidden, invalid, not_supported, required
from steersman.objects.metadata import (
    validate_annotations,
    validate_label_selector,
    validate_labels,
    validate_nonnegative,
)
from steersman.objects.names import is_dns1123_label, is_percent, name_is_dns_label

__all__ = ["RULES"]

_SPEC: Final = Path("spec")
_STATUS: Final = Path("status")
_SELECTOR: Final = _SPEC.child("selector")
_TEMPLATE: Final = _SPEC.child("template")
_RETENTIONS: Final = ("Retain", "Delete")
#: Type by which an immutable field of a StatefulSet is compared and shown; plain text has none.
_STATEFUL_SET_IMMUTABLES: Final = {
    "selector": "*LabelSelector",
    "volumeClaimTemplates": "[]PersistentVolumeClaim",
    "serviceName": "s",
    "podManagementPolicy": "s",
}


def _counts(spec: Object, *fields: str) -> list[FieldError]:
    return [
        error for field in fields for error in validate_nonnegative(spec.get(field) or 0, _SPEC.child(field))
    ]


def _immutable(new: Object, old: Object, field: str, kind: str) -> list[FieldError]:
    if semantically_equal(kind, new["spec"].get(field), old["spec"].get(field)):
        return []
    shown = internal_form(kind, new["spec"].get(field))
    return [invalid(_SPEC.child(field), shown, "field is immutable")]


def _validate_selector(spec: Object, owner: str) -> list[FieldError]:
    """A selector that says something; `owner` as Kubernetes names it here."""
    selector = spec.get("selector")
    if selector is None:
        return [required(_SELECTOR)]
    errors = validate_label_selector(selector, _SELECTOR)
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        errors.append(invalid(_SELECTOR, {}, f"empty selector is invalid for {owner}"))
    return errors


# --- Numbers that may be percentages


def _validate_int_or_percent(value: int | str, path: Path) -> list[FieldError]:
    if isinstance(value, str):
        return invalids(path, value, is_percent(value))
    return validate_nonnegative(value, path)


def _percent(value: int | str) -> int | None:
    if not isinstance(value, str) or is_percent(value):
        return None
    return int(value[:-1])


def _amount(value: int | str) -> int:
    """The number, of what it counts or of percents; text that is no percentage reads as a number."""
    if not isinstance(value, str):
        return value
    percent = _percent(value)
    if percent is not None:
        return percent
    try:
        return int(value)
    except ValueError:
        return 0


def _validate_at_most_all(value: int | str, path: Path) -> list[FieldError]:
    percent = _percent(value)
    if percent is None or percent <= 100:
        return []
    return [invalid(path, value, "must not be greater than 100%")]


# --- Deployment


def _deployment(obj: Object) -> list[FieldError]:
    spec = obj["spec"]
    errors = _counts(spec, "replicas") + _validate_replicas_template(spec)
    errors += _validate_deployment_strategy(spec.get("strategy") or {}, _SPEC.child("strategy"))
    errors += _counts(spec, "minReadySeconds", "revisionHistoryLimit")
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None:
        here = _SPEC.child("progressDeadlineSeconds")
        errors += validate_nonnegative(deadline, here)
        if deadline <= spec.get("minReadySeconds", 0):
            errors.append(invalid(here, deadline, "must be greater than minReadySeconds"))
    return errors


def _validate_replicas_template(spec: Object) -> list[FieldError]:
    """Selector and template of a Deployment or ReplicaSet."""
    errors = _validate_selector(spec, "deployment")
    selector = selector_of(spec)
    if selector is None:
        shown = internal_form("*LabelSelector", spec.get("selector"))
        return [*errors, invalid(_SELECTOR, shown, "invalid label selector")]
    template: Object = spec.get("template") or {}
    if not selector.empty:
        errors += validate_template_labels(selector, template, _TEMPLATE)
    errors += validate_pod_template(template, _TEMPLATE)
    return errors + validate_always_restarting(template, "ReplicaSet", _TEMPLATE)


def _validate_deployment_strategy(strategy: Object, path: Path) -> list[FieldError]:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    here = path.child("rollingUpdate")
    if kind == "Recreate":
        text = "may not be specified when strategy `type` is 'Recreate'"
        return [] if rolling is None else [forbidden(here, text)]
    if kind != "RollingUpdate":
        shown = internal_form("DeploymentStrategy", strategy)
        return [not_supported(path, shown, ("Recreate", "RollingUpdate"))]
    if rolling is None:
        return [required(here, "this should be defaulted and never be nil")]
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    errors = _validate_int_or_percent(unavailable, here.child("maxUnavailable"))
    errors += _validate_int_or_percent(surge, here.child("maxSurge"))
    if _amount(unavailable) == 0 and _amount(surge) == 0:
        text = "may not be 0 when `maxSurge` is 0"
        errors.append(invalid(here.child("maxUnavailable"), unavailable, text))
    return errors + _validate_at_most_all(unavailable, here.child("maxUnavailable"))


def _deployment_update(new: Object, old: Object) -> list[FieldError]:
    return _deployment(new) + _immutable(new, old, "selector", "*LabelSelector")


def _deployment_status(new: Object, old: Object) -> list[FieldError]:
    parts = ("updatedReplicas", "readyReplicas", "availableReplicas")
    counts = (
        "observedGeneration",
        "replicas",
        *parts,
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    )
    status = new.get("status") or {}
    errors = validate_replica_counts(status, nonnegative=counts, within_replicas=parts)
    return errors + _validate_collisions(new, old)


def _validate_collisions(new: Object, old: Object) -> list[FieldError]:
    before = (old.get("status") or {}).get("collisionCount")
    now = (new.get("status") or {}).get("collisionCount")
    if before is None or (now is not None and now >= before):
        return []
    return [invalid(_STATUS.child("collisionCount"), now or 0, "cannot be decremented")]


# --- ReplicaSet


def _replica_set(obj: Object) -> list[FieldError]:
    spec = obj["spec"]
    return _counts(spec, "replicas", "minReadySeconds") + _validate_replicas_template(spec)


def _replica_set_update(new: Object, old: Object) -> list[FieldError]:
    return _replica_set(new) + _immutable(new, old, "selector", "*LabelSelector")


def _replica_set_status(new: Object, old: Object) -> list[FieldError]:
    parts = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
    counts = ("replicas", *parts, "observedGeneration", "terminatingReplicas")
    return validate_replica_counts(new.get("status") or {}, nonnegative=counts, within_replicas=parts)


# --- StatefulSet


def _stateful_set(obj: Object) -> list[FieldError]:
    return _validate_stateful_set(obj["spec"], is_new=True)


def _validate_stateful_set(spec: Object, *, is_new: bool) -> list[FieldError]:
    """What never changes is looked at only when the object `is_new`."""
    errors: list[FieldError] = []
    management = spec.get("podManagementPolicy")
    if not management:
        errors.append(required(_SPEC.child("podManagementPolicy")))
    elif management not in ("OrderedReady", "Parallel"):
        text = "must be 'OrderedReady' or 'Parallel'"
        errors.append(invalid(_SPEC.child("podManagementPolicy"), management, text))
    errors += _validate_stateful_strategy(spec.get("updateStrategy") or {}, _SPEC.child("updateStrategy"))
    if (retention := spec.get("persistentVolumeClaimRetentionPolicy")) is not None:
        for field in ("whenDeleted", "whenScaled"):
            if (value := retention.get(field, "")) not in _RETENTIONS:
                here = _SPEC.child("persistentVolumeClaimRetentionPolicy", field)
                errors.append(not_supported(here, value, _RETENTIONS))
    if is_new:
        for number, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
            here = _SPEC.child("volumeClaimTemplates").index(number).child("spec")
            errors += validate_claim_spec(claim.get("spec") or {}, here)
    errors += _counts(spec, "replicas", "minReadySeconds")
    start = (spec.get("ordinals") or {}).get("start", 0)
    errors += validate_nonnegative(start, _SPEC.child("ordinals.start"))
    service = spec.get("serviceName")
    if is_new and service:
        errors += invalids(_SPEC.child("serviceName"), service, is_dns1123_label(service))
    errors += _validate_selector(spec, "statefulset")
    errors += _validate_stateful_template(spec)
    return errors + validate_always_restarting(spec.get("template") or {}, "StatefulSet", _TEMPLATE)


def _validate_stateful_template(spec: Object) -> list[FieldError]:
    selector = selector_of(spec)
    if selector is None:
        return [invalid(_SELECTOR, internal_form("*LabelSelector", spec.get("selector")), "")]
    template = _stateful_template(spec)
    errors: list[FieldError] = []
    if not selector.empty:
        errors += validate_template_labels(selector, template, _TEMPLATE)
    errors += validate_pod_template(template, _TEMPLATE)
    # Kubernetes looks at labels and annotations of this one a second time.
    metadata: Object = template.get("metadata") or {}
    errors += validate_labels(metadata.get("labels") or {}, _TEMPLATE.child("labels"))
    annotations: dict[str, str] = metadata.get("annotations") or {}
    errors += validate_annotations(annotations, _TEMPLATE.child("annotations"))
    return errors + validate_pod_annotations(
        annotations, template.get("spec") or {}, _TEMPLATE.child("annotations")
    )


def _stateful_template(spec: Object) -> Object:
    """The template as its pods will have it: named by the controller, with a volume for each claim."""
    template: Object = spec.get("template") or {}
    claims: list[Object] = spec.get("volumeClaimTemplates") or []
    pod: Object = template.get("spec") or {}
    if not claims and "subdomain" not in pod and "hostname" not in pod:
        return template
    pod = {key: value for key, value in pod.items() if key not in ("subdomain", "hostname")}
    if claims:
        names = [(claim.get("metadata") or {}).get("name", "") for claim in claims]
        made = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in dict.fromkeys(names)]
        others = [volume for volume in pod.get("volumes") or () if volume.get("name", "") not in names]
        pod["volumes"] = made + others
    return {**template, "spec": pod}


def _validate_stateful_strategy(strategy: Object, path: Path) -> list[FieldError]:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if not kind:
        return [required(path)]
    if kind == "OnDelete":
        if rolling is None:
            return []
        shown: Any = internal_form("RollingUpdateStatefulSetStrategy", rolling)
        return [
            invalid(path.child("rollingUpdate"), shown, "only allowed for updateStrategy 'RollingUpdate'")
        ]
    if kind != "RollingUpdate":
        shown = internal_form("StatefulSetUpdateStrategy", strategy)
        return [invalid(path, shown, "must be 'RollingUpdate' or 'OnDelete'")]
    if rolling is None:
        return []
    here = path.child("rollingUpdate")
    errors = validate_nonnegative(rolling.get("partition") or 0, here.child("partition"))
    unavailable = rolling.get("maxUnavailable")
    if unavailable is not None:
        here = here.child("maxUnavailable")
        errors += _validate_int_or_percent(unavailable, here)
        if _amount(unavailable) == 0:
            errors.append(invalid(here, unavailable, "cannot be 0"))
        errors += _validate_at_most_all(unavailable, here)
    return errors


def _stateful_set_update(new: Object, old: Object) -> list[FieldError]:
    errors = _validate_stateful_set(new["spec"], is_new=False)
    for field, kind in _STATEFUL_SET_IMMUTABLES.items():
        errors += _immutable(new, old, field, kind)
    return errors


def _stateful_set_status(new: Object, old: Object) -> list[FieldError]:
    parts = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
    counts = ("replicas", *parts, "observedGeneration", "collisionCount")
    errors = validate_replica_counts(
        new.get("status") or {}, nonnegative=counts, within_replicas=parts, ready="status.readyReplicas"
    )
    return errors + _validate_collisions(new, old)


# --- DaemonSet


def _daemon_set(obj: Object) -> list[FieldError]:
    spec = obj["spec"]
    errors = validate_label_selector(spec.get("selector"), _SELECTOR)
    template: Object = spec.get("template") or {}
    selector = selector_of(spec)
    if selector is not None:
        errors += validate_template_labels(selector, template, _TEMPLATE)
        if selector.empty:
            errors.append(invalid(_SELECTOR, {}, "empty selector is invalid for daemonset"))
    errors += validate_pod_template(template, _TEMPLATE)
    errors += validate_always_restarting(template, "DaemonSet", _TEMPLATE)
    errors += _counts(spec, "minReadySeconds")
    errors += _validate_daemon_strategy(spec.get("updateStrategy") or {}, _SPEC.child("updateStrategy"))
    return errors + _counts(spec, "revisionHistoryLimit")


def _validate_daemon_strategy(strategy: Object, path: Path) -> list[FieldError]:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind == "OnDelete":
        return []
    if kind != "RollingUpdate":
        shown = internal_form("DaemonSetUpdateStrategy", strategy)
        return [not_supported(path, shown, ("RollingUpdate", "OnDelete"))]
    here = path.child("rollingUpdate")
    if rolling is None:
        return [required(here)]
    numbers = {field: rolling.get(field, 0) for field in ("maxUnavailable", "maxSurge")}
    errors: list[FieldError] = []
    for check in (_validate_int_or_percent, _validate_at_most_all):
        for field, value in numbers.items():
            errors += check(value, here.child(field))
    unavailable, surge = (_amount(value) != 0 for value in numbers.values())
    if unavailable and surge:
        text = "may not be set when maxUnavailable is non-zero"
        errors.append(invalid(here.child("maxSurge"), numbers["maxSurge"], text))
    elif not unavailable and not surge:
        errors.append(required(here.child("maxUnavailable"), "cannot be 0 when maxSurge is 0"))
    return errors


def _daemon_set_update(new: Object, old: Object) -> list[FieldError]:
    return _immutable(new, old, "selector", "*LabelSelector") + _daemon_set(new)


def _daemon_set_status(new: Object, old: Object) -> list[FieldError]:
    counts = (
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    )
    errors = validate_replica_counts(new.get("status") or {}, nonnegative=counts, within_replicas=())
    return errors + _validate_collisions(new, old)


# --- ControllerRevision


def _revision(obj: Object) -> list[FieldError]:
    errors = validate_nonnegative(obj.get("revision", 0), Path("revision"))
    data = obj.get("data")
    if data is None:
        errors.append(required(Path("data"), "data is mandatory"))
    elif not isinstance(data, dict):
        errors.append(required(Path("data"), "data must be a valid JSON object"))
    return errors


def _revision_update(new: Object, old: Object) -> list[FieldError]:
    errors = validate_nonnegative(new.get("revision", 0), Path("revision"))
    if new.get("data") != old.get("data"):
        errors.append(invalid(Path("data"), new.get("data"), "field is immutable"))
    return errors


RULES: Final[dict[tuple[str, str], Rules]] = {
    ("apps", "Deployment"): Rules(create=_deployment, update=_deployment_update, status=_deployment_status),
    ("apps", "ReplicaSet"): Rules(
        create=_replica_set, update=_replica_set_update, status=_replica_set_status
    ),
    ("apps", "StatefulSet"): Rules(
        name=name_is_dns_label,
        create=_stateful_set,
        update=_stateful_set_update,
        status=_stateful_set_status,
    ),
    ("apps", "DaemonSet"): Rules(create=_daemon_set, update=_daemon_set_update, status=_daemon_set_status),
    ("apps", "ControllerRevision"): Rules(create=_revision, update=_revision_update),
}
