"""Validation of the batch group: what rules.txt cannot say about Jobs and CronJobs."""

from __future__ import annotations

import re
from typing import Final

from steersman.cluster.schema.validation.compiled import compiled_check
from steersman.cluster.schema.validation.job_status import IndexesError, count_indexes, validate_job_status
from steersman.cluster.schema.validation.pods.internal import internal_form, semantically_equal
from steersman.cluster.schema.validation.pods.template import (
    selector_of,
    validate_pod_template,
    validate_template_labels,
)
from steersman.objects.conditions import condition_is
from steersman.objects.cron import is_known_time_zone, schedule_error
from steersman.objects.fields import (
    FieldError,
    Path,
    duplicate,
    invalid,
    not_supported,
    required,
)
from steersman.objects.kinds import Object
from steersman.objects.metadata import validate_immutable, validate_nonnegative
from steersman.objects.names import is_dns1123_label, is_domain_prefixed_path
from steersman.objects.selectors import LabelSelector

__all__ = [
    "validate_container_name",
    "validate_cron_job_name",
    "validate_exit_codes",
    "validate_fail_index",
    "validate_failure_policy",
    "validate_generated_selector",
    "validate_hostnames",
    "validate_job_change",
    "validate_job_status",
    "validate_manager",
    "validate_many_indexes",
    "validate_no_selector",
    "validate_pod_template",
    "validate_restart_policy",
    "validate_schedule",
    "validate_selector_matches",
    "validate_success_policy",
    "validate_success_rule",
    "validate_time_zone",
]

_SPEC: Final = Path("spec")
_NAME: Final = Path("metadata").child("name")
_LABELS: Final = _SPEC.child("template", "metadata", "labels")
_UID_LABELS: Final = ("controller-uid", "batch.kubernetes.io/controller-uid")
_NAME_LABELS: Final = ("job-name", "batch.kubernetes.io/job-name")
_MANY: Final = 100_000
_FEWER: Final = 10_000
_CRON_NAME_LENGTH: Final = 52
_time_zone_part = re.compile(r"[A-Za-z.\-_0-9+]{1,14}").fullmatch
_validate_failure_policy = compiled_check("batch.v1.PodFailurePolicy")
_validate_success_policy = compiled_check("batch.v1.SuccessPolicy")
#: Type by which each immutable field of a Job is compared and shown.
_IMMUTABLES: Final = {
    "completionMode": "n",
    "podFailurePolicy": "*PodFailurePolicy",
    "backoffLimitPerIndex": "n",
    "managedBy": "n",
    "successPolicy": "*SuccessPolicy",
}


# --- Job


def validate_generated_selector(job: Object, path: Path) -> list[FieldError]:
    """Unless the selector is the user's, it and the labels carry the job's uid and name."""
    spec, metadata = job["spec"], job["metadata"]
    if spec.get("manualSelector") or spec.get("selector") is None:
        return []
    uid, name = metadata.get("uid", ""), metadata.get("name", "")
    errors: list[FieldError] = []
    if not uid:
        errors.append(required(Path("metadata").child("uid")))
    labels: dict[str, str] = (spec.get("template", {}).get("metadata") or {}).get("labels") or {}
    expected = {
        _UID_LABELS[0]: uid,
        _NAME_LABELS[0]: name,
        _UID_LABELS[1]: uid,
        _NAME_LABELS[1]: name,
    }
    for key, value in expected.items():
        if key not in labels:
            errors.append(required(_LABELS.key(key), f"must be '{value}'"))
        elif labels[key] != value:
            errors.append(invalid(_LABELS.key(key), dict(sorted(labels.items())), f"must be '{value}'"))
    selector = selector_of(spec)
    if selector is not None and not selector.matches(expected):
        shown = internal_form("LabelSelector", spec["selector"])
        errors.append(invalid(_SPEC.child("selector"), shown, "`selector` not auto-generated"))
    return errors


def validate_hostnames(job: Object, path: Path) -> list[FieldError]:
    """Pods of an indexed job are named after it and their index."""
    spec, name = job["spec"], job["metadata"].get("name", "")
    completions = spec.get("completions") or 0
    if spec.get("completionMode") != "Indexed" or completions <= 0:
        return []
    longest = f"{name}-{completions - 1}"
    if not is_dns1123_label(longest):
        return []
    return [invalid(_NAME, name, f"will not able to create pod with invalid DNS label: {longest}")]


def validate_selector_matches(spec: Object, path: Path) -> list[FieldError]:
    selector: LabelSelector | None = selector_of(spec)
    if selector is None:
        return []
    return validate_template_labels(selector, spec.get("template") or {}, path.child("template"))


def validate_restart_policy(spec: Object, path: Path) -> list[FieldError]:
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy", "")
    here = path.child("template", "spec", "restartPolicy")
    if policy in ("", "Always"):
        return [required(here, 'valid values: "OnFailure", "Never"')]
    if policy not in ("OnFailure", "Never"):
        return [not_supported(here, policy, ("OnFailure", "Never"))]
    if spec.get("podFailurePolicy") is not None and policy != "Never":
        text = 'only "Never" is supported when podFailurePolicy is specified'
        return [invalid(here, policy, text)]
    return []


def validate_manager(manager: str, path: Path) -> list[FieldError]:
    host, slash, rest = manager.partition("/")
    errors: list[FieldError] = []
    for text in is_domain_prefixed_path(manager):
        # A wrong part is shown alone.
        part = rest if text.startswith("Invalid path") else host
        errors.append(invalid(path, part if slash and host and rest else manager, text))
    return errors


def validate_many_indexes(spec: Object, path: Path) -> list[FieldError]:
    """What an indexed job with very many completions needs if it counts failures of each index."""
    completions, failed = spec.get("completions"), spec.get("maxFailedIndexes")
    if completions is None or completions <= _MANY or spec.get("backoffLimitPerIndex") is None:
        return []
    parallelism = spec.get("parallelism") or 0
    errors: list[FieldError] = []
    fewer = (
        f"must be less than or equal to {_FEWER} when completions are above {_MANY} "
        "and used with backoff limit per index"
    )
    if failed is None:
        text = f"must be specified when completions is above {_MANY}"
        errors.append(required(path.child("maxFailedIndexes"), text))
    if parallelism > _FEWER:
        errors.append(invalid(path.child("parallelism"), parallelism, fewer))
    if failed is not None and failed > _FEWER:
        errors.append(invalid(path.child("maxFailedIndexes"), failed, fewer))
    return errors


# --- Policies of jobs


def validate_failure_policy(spec: Object, path: Path) -> list[FieldError]:
    return _validate_failure_policy(spec["podFailurePolicy"], path.child("podFailurePolicy"), spec)


def validate_fail_index(action: str, path: Path, spec: Object) -> list[FieldError]:
    if action != "FailIndex" or spec.get("backoffLimitPerIndex") is not None:
        return []
    return [invalid(path, action, "requires the backoffLimitPerIndex to be set")]


def validate_container_name(name: str, path: Path, spec: Object) -> list[FieldError]:
    pod: Object = (spec.get("template") or {}).get("spec") or {}
    names = {
        container.get("name", "")
        for kind in ("containers", "initContainers")
        for container in pod.get(kind) or ()
    }
    if name in names:
        return []
    return [invalid(path, name, "must be one of the container or initContainer names in the pod template")]


def validate_exit_codes(codes: Object, path: Path) -> list[FieldError]:
    operator, values = codes.get("operator", ""), codes.get("values") or []
    here = path.child("values")
    errors: list[FieldError] = []
    seen: set[int] = set()
    for number, value in enumerate(values):
        if operator == "In" and value == 0:
            errors.append(invalid(here.index(number), value, "must not be 0 for the In operator"))
        if value in seen:
            errors.append(duplicate(here.index(number), value))
        seen.add(value)
    if values != sorted(values):
        errors.append(invalid(here, values, "must be ordered"))
    return errors


def validate_success_policy(spec: Object, path: Path) -> list[FieldError]:
    policy, here = spec["successPolicy"], path.child("successPolicy")
    if spec.get("completionMode") != "Indexed":
        shown = internal_form("SuccessPolicy", policy)
        return [invalid(here, shown, "requires indexed completion mode")]
    return _validate_success_policy(policy, here, spec)


def validate_success_rule(rule: Object, path: Path, spec: Object) -> list[FieldError]:
    count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
    completions = spec.get("completions") or 0
    errors: list[FieldError] = []
    total = 0
    if indexes is not None:
        try:
            total = count_indexes(indexes, completions)
        except IndexesError as error:
            text = f"error parsing succeededIndexes: {error}"
            errors.append(invalid(path.child("succeededIndexes"), indexes, text))
    if count is not None:
        here = path.child("succeededCount")
        errors += validate_nonnegative(count, here)
        start = "must be less than or equal to"
        if count > completions:
            text = f"{start} {completions} (the number of specified completions)"
            errors.append(invalid(here, count, text))
        if indexes is not None and count > total:
            text = f"{start} {total} (the number of indexes in the specified succeededIndexes field)"
            errors.append(invalid(here, count, text))
    return errors


# --- Update of jobs


def validate_job_change(new: Object, path: Path, old: Object) -> list[FieldError]:
    spec, before = new["spec"], old["spec"]
    errors = _validate_completions_update(spec, before)
    errors += _immutable(spec, before, "selector", "*LabelSelector")
    errors += _validate_template_update(spec, before, old)
    for field, kind in _IMMUTABLES.items():
        errors += _immutable(spec, before, field, kind)
    return errors


def _immutable(spec: Object, before: Object, field: str, kind: str) -> list[FieldError]:
    if semantically_equal(kind, spec.get(field), before.get(field)):
        return []
    return [invalid(_SPEC.child(field), internal_form(kind, spec.get(field)), "field is immutable")]


def _validate_completions_update(spec: Object, before: Object) -> list[FieldError]:
    """An indexed job scales by completions and parallelism together."""
    completions = spec.get("completions")
    here = _SPEC.child("completions")
    if spec.get("completionMode") != "Indexed":
        return validate_immutable(completions, before.get("completions"), here)
    if completions in (None, before.get("completions"), spec.get("parallelism")):
        return []
    return [invalid(here, completions, "can only be modified in tandem with spec.parallelism")]


def _validate_template_update(spec: Object, before: Object, old: Object) -> list[FieldError]:
    """The template of a job that is suspended and has no pods may still be tuned."""
    template, old_template = spec.get("template") or {}, before.get("template") or {}
    status: Object = old.get("status") or {}
    conditions = status.get("conditions") or []
    idle = status.get("startTime") is None or condition_is(conditions, "Suspended")
    tunable = bool(before.get("suspend")) and idle and not status.get("active")
    if tunable:
        pod, old_pod = template.get("spec") or {}, _with_directives(template, old_template)
        here = _SPEC.child("template.spec")
        if semantically_equal("PodSpec", pod, old_pod):
            return []
        return [invalid(here, internal_form("PodSpec", pod), "field is immutable")]
    if semantically_equal("PodTemplateSpec", template, old_template):
        return []
    shown = internal_form("PodTemplateSpec", template)
    return [invalid(_SPEC.child("template"), shown, "field is immutable")]


def _with_directives(template: Object, old_template: Object) -> Object:
    """The old pod spec with all that may be tuned taken from the new one."""
    pod, result = template.get("spec") or {}, dict(old_template.get("spec") or {})
    for field in ("nodeSelector", "tolerations", "schedulingGates"):
        result.pop(field, None)
        if field in pod:
            result[field] = pod[field]
    affinity = {k: v for k, v in (result.pop("affinity", None) or {}).items() if k != "nodeAffinity"}
    if "nodeAffinity" in (pod.get("affinity") or {}):
        affinity["nodeAffinity"] = pod["affinity"]["nodeAffinity"]
    if affinity or pod.get("affinity") is not None:
        result["affinity"] = affinity
    for kind in ("containers", "initContainers"):
        containers, old_containers = pod.get(kind) or [], result.get(kind) or []
        if len(containers) == len(old_containers) and containers:
            result[kind] = [
                {**previous, "resources": container.get("resources") or {}}
                if previous.get("name") == container.get("name")
                else previous
                for container, previous in zip(containers, old_containers, strict=True)
            ]
    return result


# --- CronJob


def validate_cron_job_name(obj: Object, path: Path) -> list[FieldError]:
    """Its jobs get a time stamp appended."""
    name = obj["metadata"].get("name", "")
    if len(name) <= _CRON_NAME_LENGTH:
        return []
    return [invalid(_NAME, name, f"must be no more than {_CRON_NAME_LENGTH} characters")]


def validate_schedule(schedule: str, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    if problem := schedule_error(schedule):
        errors.append(invalid(path, schedule, problem))
    if "TZ" in schedule:
        text = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        errors.append(invalid(path, schedule, text))
    return errors


def validate_no_selector(selector: Object, path: Path) -> list[FieldError]:
    return [invalid(path, internal_form("LabelSelector", selector), "`selector` will be auto-generated")]


def validate_time_zone(zone: str, path: Path) -> list[FieldError]:
    if not zone:
        return [invalid(path, zone, "timeZone must be nil or non-empty string")]
    unknown = invalid(path, zone, f"unknown time zone {zone}")
    for part in zone.split("/"):
        if part in (".", "..") or part.startswith("-") or not _time_zone_part(part):
            return [unknown]
    errors: list[FieldError] = []
    if zone.lower() == "local":
        text = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        errors.append(invalid(path, zone, text))
    if not is_known_time_zone(zone):
        errors.append(unknown)
    return errors
