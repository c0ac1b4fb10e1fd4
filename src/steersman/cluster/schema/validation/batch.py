"""The batch group: Jobs and CronJobs."""

from __future__ import annotations

import re
from typing import Final

from steersman.cluster.schema.validation.job_status import IndexesError, count_indexes, validate_job_status
from steersman.cluster.schema.validation.pods.internal import internal_form, semantically_equal
from steersman.cluster.schema.validation.pods.template import (
    selector_of,
    validate_pod_template,
    validate_template_labels,
)
from steersman.cluster.schema.validation.rules import Object, Rules, ValuelessError, invalids
from steersman.objects.conditions import condition_is
from steersman.objects.cron import is_known_time_zone, schedule_error
from steersman.objects.fields import (
    FieldError,
    Path,
    duplicate,
    invalid,
    not_supported,
    quote,
    required,
    too_long,
    too_many,
)
from steersman.objects.metadata import validate_immutable, validate_label_selector, validate_nonnegative
from steersman.objects.names import is_dns1123_label, is_domain_prefixed_path, is_label_key
from steersman.objects.selectors import LabelSelector

__all__ = ["RULES"]

_SPEC: Final = Path("spec")
_NAME: Final = Path("metadata").child("name")
_LABELS: Final = _SPEC.child("template", "metadata", "labels")
_UID_LABELS: Final = ("controller-uid", "batch.kubernetes.io/controller-uid")
_NAME_LABELS: Final = ("job-name", "batch.kubernetes.io/job-name")
_MODES: Final = ("NonIndexed", "Indexed")
_MANY: Final = 100_000
_FEWER: Final = 10_000
_MANAGED_BY_LENGTH: Final = 63
_RULES_LIMIT: Final = 20
_EXIT_CODES_LIMIT: Final = 255
_INDEXES_LENGTH: Final = 64 * 1024
_ACTIONS: Final = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS: Final = ("In", "NotIn")
_CONDITION_STATUSES: Final = ("False", "True", "Unknown")
_REPLACEMENTS: Final = ("Failed", "TerminatingOrFailed")
_CONCURRENCY: Final = ("Allow", "Forbid", "Replace")
_CRON_NAME_LENGTH: Final = 52
_time_zone_part = re.compile(r"[A-Za-z.\-_0-9+]{1,14}").fullmatch
#: Type by which each immutable field of a Job is compared and shown.
_IMMUTABLES: Final = {
    "completionMode": "n",
    "podFailurePolicy": "*PodFailurePolicy",
    "backoffLimitPerIndex": "n",
    "managedBy": "n",
    "successPolicy": "*SuccessPolicy",
}


# --- Job


def _job(job: Object) -> list[FieldError]:
    spec = job["spec"]
    errors = _validate_generated_selector(job)
    errors += _validate_spec(spec)
    return errors + _validate_hostnames(job)


def _validate_generated_selector(job: Object) -> list[FieldError]:
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


def _validate_hostnames(job: Object) -> list[FieldError]:
    """Pods of an indexed job are named after it and their index."""
    spec, name = job["spec"], job["metadata"].get("name", "")
    completions = spec.get("completions") or 0
    if spec.get("completionMode") != "Indexed" or completions <= 0:
        return []
    longest = f"{name}-{completions - 1}"
    if not is_dns1123_label(longest):
        return []
    return [invalid(_NAME, name, f"will not able to create pod with invalid DNS label: {longest}")]


def _validate_spec(spec: Object) -> list[FieldError]:
    errors = _validate_any_spec(spec, _SPEC)
    if spec.get("selector") is None:
        errors.append(required(_SPEC.child("selector")))
    else:
        errors += validate_label_selector(spec["selector"], _SPEC.child("selector"))
    selector: LabelSelector | None = selector_of(spec)
    if selector is not None:
        errors += validate_template_labels(selector, spec.get("template") or {}, _SPEC.child("template"))
    return errors


def _validate_any_spec(spec: Object, path: Path) -> list[FieldError]:
    """A job's spec, of its own or in the template of a CronJob."""
    errors = _validate_limits(spec, path)
    errors += _validate_mode(spec, path)
    template: Object = spec.get("template") or {}
    if (failure := spec.get("podFailurePolicy")) is not None:
        errors += _validate_failure_policy(failure, spec, path.child("podFailurePolicy"))
    if (success := spec.get("successPolicy")) is not None:
        here = path.child("successPolicy")
        if spec.get("completionMode") != "Indexed":
            shown = internal_form("SuccessPolicy", success)
            errors.append(invalid(here, shown, "requires indexed completion mode"))
        else:
            errors += _validate_success_policy(success, spec.get("completions") or 0, here)
    replacement = spec.get("podReplacementPolicy")
    supported = _REPLACEMENTS if failure is None else ("Failed",)
    if replacement is not None and replacement not in supported:
        errors.append(not_supported(path.child("podReplacementPolicy"), replacement, supported))
    errors += validate_pod_template(template, path.child("template"))
    policy = (template.get("spec") or {}).get("restartPolicy", "")
    here = path.child("template", "spec", "restartPolicy")
    if policy in ("", "Always"):
        errors.append(required(here, 'valid values: "OnFailure", "Never"'))
    elif policy not in ("OnFailure", "Never"):
        errors.append(not_supported(here, policy, ("OnFailure", "Never")))
    elif failure is not None and policy != "Never":
        text = 'only "Never" is supported when podFailurePolicy is specified'
        errors.append(invalid(here, policy, text))
    return errors


def _validate_limits(spec: Object, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    for field in (
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ):
        if (number := spec.get(field)) is not None:
            errors += validate_nonnegative(number, path.child(field))
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        errors.append(required(path.child("backoffLimitPerIndex"), "when maxFailedIndexes is specified"))
    if (manager := spec.get("managedBy")) is not None:
        errors += _validate_managed_by(manager, path.child("managedBy"))
    return errors


def _validate_managed_by(manager: str, path: Path) -> list[FieldError]:
    if not manager:
        return [required(path)]
    host, slash, rest = manager.partition("/")
    errors: list[FieldError] = []
    for text in is_domain_prefixed_path(manager):
        # A wrong part is shown alone.
        part = rest if text.startswith("Invalid path") else host
        errors.append(invalid(path, part if slash and host and rest else manager, text))
    if len(manager) > _MANAGED_BY_LENGTH:
        errors.append(too_long(path, _MANAGED_BY_LENGTH))
    return errors


def _validate_mode(spec: Object, path: Path) -> list[FieldError]:
    mode = spec.get("completionMode")
    errors: list[FieldError] = []
    if mode is not None and mode not in _MODES:
        errors.append(not_supported(path.child("completionMode"), mode, _MODES))
    if mode == "Indexed":
        errors += _validate_indexed(spec, path)
    if mode in (None, "NonIndexed"):
        for field in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(field) is not None:
                errors.append(invalid(path.child(field), spec[field], "requires indexed completion mode"))
    return errors


def _validate_indexed(spec: Object, path: Path) -> list[FieldError]:
    completions, parallelism = spec.get("completions"), spec.get("parallelism") or 0
    failed = spec.get("maxFailedIndexes")
    errors: list[FieldError] = []
    at_most = "must be less than or equal to"
    if completions is None:
        errors.append(required(path.child("completions"), "when completion mode is Indexed"))
    if parallelism > _MANY:
        text = f"{at_most} {_MANY} when completion mode is Indexed"
        errors.append(invalid(path.child("parallelism"), parallelism, text))
    if completions is not None and failed is not None and failed > completions:
        errors.append(invalid(path.child("maxFailedIndexes"), failed, f"{at_most} completions"))
    if failed is not None and failed > _MANY:
        errors.append(invalid(path.child("maxFailedIndexes"), failed, f"{at_most} {_MANY}"))
    if completions is None or completions <= _MANY or spec.get("backoffLimitPerIndex") is None:
        return errors
    fewer = f"{at_most} {_FEWER} when completions are above {_MANY} and used with backoff limit per index"
    if failed is None:
        text = f"must be specified when completions is above {_MANY}"
        errors.append(required(path.child("maxFailedIndexes"), text))
    if parallelism > _FEWER:
        errors.append(invalid(path.child("parallelism"), parallelism, fewer))
    if failed is not None and failed > _FEWER:
        errors.append(invalid(path.child("maxFailedIndexes"), failed, fewer))
    return errors


# --- Policies of jobs


def _one_of(value: str, supported: tuple[str, ...], path: Path) -> list[FieldError]:
    if not value:
        return [required(path, f"valid values: [{' '.join(map(quote, supported))}]")]
    return [] if value in supported else [not_supported(path, value, supported)]


def _validate_failure_policy(policy: Object, spec: Object, path: Path) -> list[FieldError]:
    rules: list[Object] = policy.get("rules") or []
    here = path.child("rules")
    errors: list[FieldError] = []
    if len(rules) > _RULES_LIMIT:
        errors.append(too_many(here, len(rules), _RULES_LIMIT))
    pod: Object = (spec.get("template") or {}).get("spec") or {}
    names = {
        container.get("name", "")
        for kind in ("containers", "initContainers")
        for container in pod.get(kind) or ()
    }
    for number, rule in enumerate(rules):
        errors += _validate_failure_rule(rule, spec, names, here.index(number))
    return errors


def _validate_failure_rule(rule: Object, spec: Object, names: set[str], path: Path) -> list[FieldError]:
    action, codes = rule.get("action", ""), rule.get("onExitCodes")
    conditions: list[Object] = rule.get("onPodConditions") or []
    errors = _one_of(action, _ACTIONS, path.child("action"))
    if action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
        text = "requires the backoffLimitPerIndex to be set"
        errors.append(invalid(path.child("action"), action, text))
    if codes is not None:
        errors += _validate_exit_codes(codes, names, path.child("onExitCodes"))
    here = path.child("onPodConditions")
    if len(conditions) > _RULES_LIMIT:
        errors.append(too_many(here, len(conditions), _RULES_LIMIT))
    for number, pattern in enumerate(conditions):
        kind = pattern.get("type", "")
        errors += invalids(here.index(number).child("type"), kind, is_label_key(kind))
        errors += _one_of(pattern.get("status", ""), _CONDITION_STATUSES, here.index(number).child("status"))
    if codes is not None and conditions:
        text = "specifying both OnExitCodes and OnPodConditions is not supported"
        errors.append(ValuelessError(path, text))
    if codes is None and not conditions:
        text = "specifying one of OnExitCodes and OnPodConditions is required"
        errors.append(ValuelessError(path, text))
    return errors


def _validate_exit_codes(codes: Object, names: set[str], path: Path) -> list[FieldError]:
    operator, container = codes.get("operator", ""), codes.get("containerName")
    errors = _one_of(operator, _OPERATORS, path.child("operator"))
    if container is not None and container not in names:
        text = "must be one of the container or initContainer names in the pod template"
        errors.append(invalid(path.child("containerName"), container, text))
    values: list[int] = codes.get("values") or []
    here = path.child("values")
    if not values:
        errors.append(invalid(here, codes.get("values"), "at least one value is required"))
    elif len(values) > _EXIT_CODES_LIMIT:
        errors.append(too_many(here, len(values), _EXIT_CODES_LIMIT))
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


def _validate_success_policy(policy: Object, completions: int, path: Path) -> list[FieldError]:
    rules: list[Object] = policy.get("rules") or []
    here = path.child("rules")
    errors: list[FieldError] = []
    if not rules:
        text = "at least one rules must be specified when the successPolicy is specified"
        errors.append(required(here, text))
    if len(rules) > _RULES_LIMIT:
        errors.append(too_many(here, len(rules), _RULES_LIMIT))
    for number, rule in enumerate(rules):
        errors += _validate_success_rule(rule, completions, here.index(number))
    return errors


def _validate_success_rule(rule: Object, completions: int, path: Path) -> list[FieldError]:
    count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
    errors: list[FieldError] = []
    if count is None and indexes is None:
        text = "at least one of succeededCount or succeededIndexes must be specified"
        errors.append(required(path, text))
    total = 0
    if indexes is not None:
        here = path.child("succeededIndexes")
        if len(indexes) > _INDEXES_LENGTH:
            errors.append(too_long(here, _INDEXES_LENGTH))
        try:
            total = count_indexes(indexes, completions)
        except IndexesError as error:
            errors.append(invalid(here, indexes, f"error parsing succeededIndexes: {error}"))
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


def _job_update(new: Object, old: Object) -> list[FieldError]:
    spec, before = new["spec"], old["spec"]
    errors = _validate_spec(spec)
    errors += _validate_completions_update(spec, before)
    errors += _immutable(spec, before, "selector", "*LabelSelector")
    errors += _validate_template_update(spec, before, old)
    for field, kind in _IMMUTABLES.items():
        errors += _immutable(spec, before, field, kind)
    return errors + _validate_hostnames(new)


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


def _cron_job(obj: Object) -> list[FieldError]:
    errors = _validate_cron_spec(obj["spec"], None)
    name = obj["metadata"].get("name", "")
    if len(name) > _CRON_NAME_LENGTH:
        # Its jobs get a time stamp appended.
        errors.append(invalid(_NAME, name, f"must be no more than {_CRON_NAME_LENGTH} characters"))
    return errors


def _cron_job_update(new: Object, old: Object) -> list[FieldError]:
    return _validate_cron_spec(new["spec"], old["spec"])


def _cron_job_late(new: Object, old: Object | None) -> list[FieldError]:
    if new["spec"].get("schedule") or (old is not None and not old["spec"].get("schedule")):
        return []
    return [required(_SPEC.child("schedule"))]


def _validate_cron_spec(spec: Object, before: Object | None) -> list[FieldError]:
    errors: list[FieldError] = []
    if schedule := spec.get("schedule"):
        here = _SPEC.child("schedule")
        if problem := schedule_error(schedule):
            errors.append(invalid(here, schedule, problem))
        if "TZ" in schedule:
            text = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
            errors.append(invalid(here, schedule, text))
    if (seconds := spec.get("startingDeadlineSeconds")) is not None:
        errors += validate_nonnegative(seconds, _SPEC.child("startingDeadlineSeconds"))
    zone = spec.get("timeZone")
    if zone is not None and (before is None or before.get("timeZone") != zone):
        errors += _validate_time_zone(zone, _SPEC.child("timeZone"))
    policy = spec.get("concurrencyPolicy")
    if policy not in _CONCURRENCY:
        here = _SPEC.child("concurrencyPolicy")
        errors.append(not_supported(here, policy, _CONCURRENCY) if policy else required(here))
    errors += _validate_job_template((spec.get("jobTemplate") or {}).get("spec") or {})
    for field in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        errors += validate_nonnegative(spec.get(field) or 0, _SPEC.child(field))
    return errors


def _validate_job_template(spec: Object) -> list[FieldError]:
    path = _SPEC.child("jobTemplate", "spec")
    errors = _validate_any_spec(spec, path)
    if (selector := spec.get("selector")) is not None:
        shown = internal_form("LabelSelector", selector)
        errors.append(invalid(path.child("selector"), shown, "`selector` will be auto-generated"))
    if spec.get("manualSelector"):
        errors.append(not_supported(path.child("manualSelector"), True, ("nil", "false")))
    return errors


def _validate_time_zone(zone: str, path: Path) -> list[FieldError]:
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


RULES: Final[dict[tuple[str, str], Rules]] = {
    ("batch", "Job"): Rules(create=_job, update=_job_update, status=validate_job_status),
    ("batch", "CronJob"): Rules(create=_cron_job, update=_cron_job_update, late=_cron_job_late),
}
