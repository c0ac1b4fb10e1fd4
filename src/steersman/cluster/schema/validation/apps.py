"""Validation of the apps group: what rules.txt cannot say about controllers of pods."""

from __future__ import annotations

from typing import Any, Final

from steersman.cluster.schema.validation.pods.annotations import validate_pod_annotations
from steersman.cluster.schema.validation.pods.internal import internal_form, semantically_equal
from steersman.cluster.schema.validation.pods.template import (
    selector_of,
    validate_always_restarting,
    validate_pod_template,
    validate_template_labels,
)
from steersman.cluster.schema.validation.rules import invalids
from steersman.cluster.schema.validation.storage_core import validate_claim_spec
from steersman.objects.fields import FieldError, Path, invalid, not_supported, required
from steersman.objects.kinds import Object
from steersman.objects.metadata import (
    validate_annotations,
    validate_label_selector,
    validate_labels,
    validate_nonnegative,
)
from steersman.objects.names import is_percent

__all__ = [
    "validate_always_restarting",
    "validate_at_most_all",
    "validate_claim_spec",
    "validate_collisions",
    "validate_daemon_strategy_type",
    "validate_daemon_template",
    "validate_data",
    "validate_deadline",
    "validate_deployment_strategy_type",
    "validate_either_surge_or_unavailable",
    "validate_int_or_percent",
    "validate_not_zero",
    "validate_replicas_template",
    "validate_same_selector",
    "validate_selector",
    "validate_stateful_set_change",
    "validate_stateful_strategy",
    "validate_stateful_template",
    "validate_surge_or_unavailable",
]

#: Type by which an immutable field of a StatefulSet is compared and shown; plain text has none.
_STATEFUL_SET_IMMUTABLES: Final = {
    "selector": "*LabelSelector",
    "volumeClaimTemplates": "[]PersistentVolumeClaim",
    "serviceName": "s",
    "podManagementPolicy": "s",
}


def _immutable(new: Object, old: Object, field: str, kind: str, path: Path) -> list[FieldError]:
    if semantically_equal(kind, new["spec"].get(field), old["spec"].get(field)):
        return []
    shown = internal_form(kind, new["spec"].get(field))
    return [invalid(path.child("spec", field), shown, "field is immutable")]


def validate_same_selector(new: Object, path: Path, old: Object) -> list[FieldError]:
    return _immutable(new, old, "selector", "*LabelSelector", path)


def validate_selector(spec: Object, path: Path, owner: str) -> list[FieldError]:
    """A selector that says something; `owner` as Kubernetes names it here."""
    selector, path = spec.get("selector"), path.child("selector")
    if selector is None:
        return [required(path)]
    errors = validate_label_selector(selector, path)
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        errors.append(invalid(path, {}, f"empty selector is invalid for {owner}"))
    return errors


def validate_collisions(status: Object, path: Path, old: Object | None) -> list[FieldError]:
    before, now = (old or {}).get("collisionCount"), status.get("collisionCount")
    if before is None or (now is not None and now >= before):
        return []
    return [invalid(path.child("collisionCount"), now or 0, "cannot be decremented")]


# --- Numbers that may be percentages


def validate_int_or_percent(value: int | str, path: Path) -> list[FieldError]:
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


def validate_at_most_all(value: int | str, path: Path) -> list[FieldError]:
    percent = _percent(value)
    if percent is None or percent <= 100:
        return []
    return [invalid(path, value, "must not be greater than 100%")]


# --- Deployment and ReplicaSet


def validate_replicas_template(spec: Object, path: Path) -> list[FieldError]:
    """Selector and template of a Deployment or ReplicaSet."""
    errors = validate_selector(spec, path, "deployment")
    selector = selector_of(spec)
    if selector is None:
        shown = internal_form("*LabelSelector", spec.get("selector"))
        return [*errors, invalid(path.child("selector"), shown, "invalid label selector")]
    template: Object = spec.get("template") or {}
    here = path.child("template")
    if not selector.empty:
        errors += validate_template_labels(selector, template, here)
    errors += validate_pod_template(template, here)
    return errors + validate_always_restarting(template, here, "ReplicaSet")


def validate_deadline(spec: Object, path: Path) -> list[FieldError]:
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is None or deadline > spec.get("minReadySeconds", 0):
        return []
    return [invalid(path.child("progressDeadlineSeconds"), deadline, "must be greater than minReadySeconds")]


def validate_deployment_strategy_type(strategy: Object, path: Path) -> list[FieldError]:
    if strategy.get("type") in ("Recreate", "RollingUpdate"):
        return []
    shown = internal_form("DeploymentStrategy", strategy)
    return [not_supported(path, shown, ("Recreate", "RollingUpdate"))]


def validate_surge_or_unavailable(rolling: Object, path: Path) -> list[FieldError]:
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    if _amount(unavailable) != 0 or _amount(surge) != 0:
        return []
    return [invalid(path.child("maxUnavailable"), unavailable, "may not be 0 when `maxSurge` is 0")]


# --- StatefulSet


def validate_stateful_template(spec: Object, path: Path) -> list[FieldError]:
    selector = selector_of(spec)
    if selector is None:
        return [invalid(path.child("selector"), internal_form("*LabelSelector", spec.get("selector")), "")]
    template = _stateful_template(spec)
    here = path.child("template")
    errors: list[FieldError] = []
    if not selector.empty:
        errors += validate_template_labels(selector, template, here)
    errors += validate_pod_template(template, here)
    # Kubernetes looks at labels and annotations of this one a second time.
    metadata: Object = template.get("metadata") or {}
    errors += validate_labels(metadata.get("labels") or {}, here.child("labels"))
    annotations: dict[str, str] = metadata.get("annotations") or {}
    errors += validate_annotations(annotations, here.child("annotations"))
    return errors + validate_pod_annotations(
        annotations, template.get("spec") or {}, here.child("annotations")
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


def validate_stateful_strategy(strategy: Object, path: Path) -> list[FieldError]:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind == "OnDelete" and rolling is not None:
        shown: Any = internal_form("RollingUpdateStatefulSetStrategy", rolling)
        text = "only allowed for updateStrategy 'RollingUpdate'"
        return [invalid(path.child("rollingUpdate"), shown, text)]
    if kind not in ("OnDelete", "RollingUpdate"):
        shown = internal_form("StatefulSetUpdateStrategy", strategy)
        return [invalid(path, shown, "must be 'RollingUpdate' or 'OnDelete'")]
    return []


def validate_not_zero(amount: int | str, path: Path) -> list[FieldError]:
    return [invalid(path, amount, "cannot be 0")] if _amount(amount) == 0 else []


def validate_stateful_set_change(new: Object, path: Path, old: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    for field, kind in _STATEFUL_SET_IMMUTABLES.items():
        errors += _immutable(new, old, field, kind, path)
    return errors


# --- DaemonSet


def validate_daemon_template(spec: Object, path: Path) -> list[FieldError]:
    template: Object = spec.get("template") or {}
    here = path.child("template")
    selector = selector_of(spec)
    errors: list[FieldError] = []
    if selector is not None:
        errors += validate_template_labels(selector, template, here)
        if selector.empty:
            errors.append(invalid(path.child("selector"), {}, "empty selector is invalid for daemonset"))
    return errors + validate_pod_template(template, here)


def validate_daemon_strategy_type(strategy: Object, path: Path) -> list[FieldError]:
    if strategy.get("type") in ("OnDelete", "RollingUpdate"):
        return []
    shown = internal_form("DaemonSetUpdateStrategy", strategy)
    return [not_supported(path, shown, ("RollingUpdate", "OnDelete"))]


def validate_either_surge_or_unavailable(rolling: Object, path: Path) -> list[FieldError]:
    """Pods are either stopped before others are started, or others are started first."""
    numbers = [rolling.get(field, 0) for field in ("maxUnavailable", "maxSurge")]
    unavailable, surge = (_amount(number) != 0 for number in numbers)
    if unavailable and surge:
        text = "may not be set when maxUnavailable is non-zero"
        return [invalid(path.child("maxSurge"), numbers[1], text)]
    if not unavailable and not surge:
        return [required(path.child("maxUnavailable"), "cannot be 0 when maxSurge is 0")]
    return []


# --- ControllerRevision


def validate_data(data: Any, path: Path) -> list[FieldError]:
    return [] if isinstance(data, dict) else [required(path, "data must be a valid JSON object")]
