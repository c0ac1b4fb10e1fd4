"""Strategies of workloads: everything with a pod template."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from steersman.cluster.apiserver.resources.strategies.disabled_fields import drop_from_template
from steersman.cluster.apiserver.resources.strategies.pod_warnings import template_warnings
from steersman.cluster.apiserver.resources.strategies.strategy import Strategy, keep, spec_of, status_endpoint
from steersman.cluster.apiserver.resources.strategies.volume_warnings import claim_warnings
from steersman.objects.fields import Path
from steersman.objects.kinds import Object
from steersman.objects.names import is_dns1123_label

__all__ = ["WORKLOADS"]

_TEMPLATE: Final = Path("spec").child("template")
_JOB_SPEC: Final = Path("spec")
_CRON_JOB_SPEC: Final = Path("spec").child("jobTemplate", "spec")

_TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"
_JOB_NAME: Final = ("job-name", "batch.kubernetes.io/job-name")
_CONTROLLER_UID: Final = ("controller-uid", "batch.kubernetes.io/controller-uid")
_COMPLETIONS_LIMIT: Final = 100_000
_PARALLELISM_LIMIT: Final = 10_000


# --- Warnings


def _name_warnings(obj: Object) -> list[str]:
    problems = is_dns1123_label(obj["metadata"].get("name", ""))
    if not problems:
        return []
    return [
        "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; "
        f"a DNS label is recommended: [{' '.join(problems)}]"
    ]


def _spec_template_warnings(obj: Object) -> list[str]:
    return template_warnings(obj["spec"].get("template"), _TEMPLATE)


def _named_template_warnings(obj: Object) -> list[str]:
    return _name_warnings(obj) + _spec_template_warnings(obj)


def _if_changed(warn: Callable[[Object], list[str]]) -> Callable[[Object, Object], list[str]]:
    """Warnings that are repeated only when the object changes."""

    def warnings(new: Object, old: Object) -> list[str]:
        changed = new["metadata"].get("generation") != old["metadata"].get("generation")
        return warn(new) if changed else []

    return warnings


def _job_spec_warnings(spec: Object, path: Path) -> list[str]:
    warnings = []
    if (
        spec.get("completionMode") == "Indexed"
        and (spec.get("completions") or 0) > _COMPLETIONS_LIMIT
        and (spec.get("parallelism") or 0) > _PARALLELISM_LIMIT
    ):
        warnings.append(
            f"{path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism "
            "higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number "
            "of indexes fail"
        )
    return warnings + template_warnings(spec["template"], path.child("template"))


def _job_warnings(job: Object) -> list[str]:
    return _job_spec_warnings(job["spec"], _JOB_SPEC)


def _cron_job_warnings(cron_job: Object) -> list[str]:
    return _job_spec_warnings(cron_job["spec"]["jobTemplate"]["spec"], _CRON_JOB_SPEC)


def _cron_job_update_warnings(new: Object, old: Object) -> list[str]:
    warnings = _if_changed(_cron_job_warnings)(new, old)
    if "TZ" in new["spec"].get("schedule", ""):
        warnings.append(
            "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
            "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
        )
    return warnings


def _claim_template_warnings(stateful_set: Object, *place: str) -> list[str]:
    claims = Path("spec").child("volumeClaimTemplates")
    warnings = [
        warning
        for index, claim in enumerate(stateful_set["spec"].get("volumeClaimTemplates") or ())
        for warning in claim_warnings(claim["spec"], claims.index(index).child(*place))
    ]
    if (stateful_set["spec"].get("revisionHistoryLimit") or 0) < 0:
        warnings.append(
            "spec.revisionHistoryLimit: a negative value retains all historical revisions; "
            "a value >= 0 is recommended"
        )
    return warnings


def _replication_controller_update_warnings(new: Object, old: Object) -> list[str]:
    # The real server looks at the template that was, not the one that comes.
    changed = new["metadata"].get("generation") != old["metadata"].get("generation")
    return _spec_template_warnings(old) if changed else []


def _daemon_set_update_warnings(new: Object, old: Object) -> list[str]:
    return _spec_template_warnings(new) if new["spec"]["template"] != old["spec"]["template"] else []


# --- Preparing


def _drop_disabled(new: Object, old: Object | None = None) -> None:
    before = old["spec"].get("template") if old is not None else None
    drop_from_template(new["spec"].get("template"), before)


def _drop_disabled_from_job(spec: Object, before: Object | None) -> None:
    if before is None or before.get("scheduling") is None:
        spec.pop("scheduling", None)
    drop_from_template(spec["template"], before["template"] if before is not None else None)


def _prepare_cron_job(new: Object, old: Object | None = None) -> None:
    before = old["spec"]["jobTemplate"]["spec"] if old is not None else None
    _drop_disabled_from_job(new["spec"]["jobTemplate"]["spec"], before)


def _annotate_template_generation(daemon_set: Object, generation: int) -> None:
    daemon_set["metadata"].setdefault("annotations", {})[_TEMPLATE_GENERATION] = str(generation)


def _template_generation(daemon_set: Object) -> int:
    text = (daemon_set["metadata"].get("annotations") or {}).get(_TEMPLATE_GENERATION, "0")
    return int(text) if text.lstrip("+-").isdecimal() else 0


def _prepare_daemon_set(daemon_set: Object) -> None:
    _drop_disabled(daemon_set)
    _annotate_template_generation(daemon_set, max(_template_generation(daemon_set), 1))


def _update_daemon_set(new: Object, old: Object) -> None:
    _drop_disabled(new, old)
    changed = new["spec"]["template"] != old["spec"]["template"]
    _annotate_template_generation(new, _template_generation(old) + changed)


def _keep_template_generation(new: Object, old: Object) -> None:
    _annotate_template_generation(new, _template_generation(old))


def _prepare_job(job: Object) -> None:
    """Unless the user brings a selector, a job selects its pods by labels no other job has."""
    metadata, spec = job["metadata"], job["spec"]
    _drop_disabled_from_job(spec, None)
    template_metadata = spec["template"]["metadata"]
    if metadata.get("generateName") and metadata.get("labels") is template_metadata.get("labels") is not None:
        # An object whose name is made up is copied for each try, and its labels are its own from then on.
        metadata["labels"] = dict(metadata["labels"])
    if not spec.get("manualSelector"):
        labels = template_metadata.setdefault("labels", {})
        for keys, value in (
            (_JOB_NAME, metadata.get("name", "")),
            (_CONTROLLER_UID, metadata.get("uid", "")),
        ):
            for key in keys:
                labels.setdefault(key, value)
        if spec.get("selector") is None:
            spec["selector"] = {}
        spec["selector"].setdefault("matchLabels", {}).setdefault(_CONTROLLER_UID[1], metadata.get("uid", ""))


def _label_job(job: Object) -> None:
    """Defaulting runs once more when a job comes back from storage, now with labels to take."""
    labels = job["spec"]["template"]["metadata"].get("labels")
    if labels and not job["metadata"].get("labels"):
        job["metadata"]["labels"] = dict(labels)


def _deployment_generation(deployment: Object) -> object:
    # Annotations count, because rollout controllers read their orders there.
    return deployment["spec"], deployment["metadata"].get("annotations") or {}


def _update_job(new: Object, old: Object) -> None:
    """A job put without labels gets those of its template back, as defaulting on reading does."""
    _drop_disabled_from_job(new["spec"], old["spec"])
    if not new["metadata"].get("labels"):
        keep(new["metadata"], new["spec"]["template"]["metadata"], "labels")


def _replicas(obj: Object) -> str:
    return str(obj["status"].get("replicas", 0))


WORKLOADS: Final = (
    Strategy(
        "apps",
        "deployments",
        zero_status={},
        generation=_deployment_generation,
        on_create=_drop_disabled,
        on_update=_drop_disabled,
        create_warnings=_named_template_warnings,
        update_warnings=_if_changed(_spec_template_warnings),
        reset_fields=("status",),
        subresources={"status": status_endpoint("labels")},
    ),
    Strategy(
        "apps",
        "replicasets",
        zero_status={"replicas": 0},
        generation=spec_of,
        on_create=_drop_disabled,
        on_update=_drop_disabled,
        create_warnings=_named_template_warnings,
        update_warnings=_if_changed(_spec_template_warnings),
        reset_fields=("status",),
        subresources={"status": status_endpoint()},
    ),
    Strategy(
        "apps",
        "statefulsets",
        zero_status={"replicas": 0, "availableReplicas": 0},
        generation=spec_of,
        on_create=_drop_disabled,
        on_update=_drop_disabled,
        create_warnings=lambda obj: _spec_template_warnings(obj) + _claim_template_warnings(obj),
        update_warnings=lambda new, old: (
            _if_changed(_spec_template_warnings)(new, old) + _claim_template_warnings(new, "Spec")
        ),
        reset_fields=("status",),
        subresources={"status": status_endpoint()},
    ),
    Strategy(
        "apps",
        "daemonsets",
        zero_status={
            "currentNumberScheduled": 0,
            "numberMisscheduled": 0,
            "desiredNumberScheduled": 0,
            "numberReady": 0,
        },
        generation=spec_of,
        on_create=_prepare_daemon_set,
        on_update=_update_daemon_set,
        create_warnings=_spec_template_warnings,
        update_warnings=_daemon_set_update_warnings,
        reset_fields=("status",),
        subresources={"status": status_endpoint(also=_keep_template_generation)},
    ),
    Strategy("apps", "controllerrevisions"),
    Strategy(
        "batch",
        "jobs",
        zero_status={},
        generation=spec_of,
        on_create=_prepare_job,
        after_check=_label_job,
        on_update=_update_job,
        create_warnings=lambda job: _name_warnings(job) + _job_warnings(job),
        update_warnings=_if_changed(_job_warnings),
        reset_fields=("status",),
        subresources={"status": status_endpoint(also=lambda job, _: _label_job(job))},
        fields={"status.successful": lambda job: str(job["status"].get("succeeded", 0))},
        field_refusal='field label "%s" not supported for Job',
        default_propagation="Orphan",
        orphan_warning=(
            "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to "
            "remove them or set propagationPolicy=Orphan to suppress this warning"
        ),
    ),
    Strategy(
        "batch",
        "cronjobs",
        zero_status={},
        generation=spec_of,
        on_create=_prepare_cron_job,
        on_update=_prepare_cron_job,
        create_warnings=lambda cron_job: _name_warnings(cron_job) + _cron_job_warnings(cron_job),
        update_warnings=_cron_job_update_warnings,
        reset_fields=("status",),
        subresources={"status": status_endpoint()},
    ),
    Strategy(
        "",
        "replicationcontrollers",
        zero_status={"replicas": 0},
        generation=spec_of,
        on_create=_drop_disabled,
        on_update=_drop_disabled,
        create_warnings=_named_template_warnings,
        update_warnings=_replication_controller_update_warnings,
        reset_fields=("status",),
        subresources={"status": status_endpoint()},
        fields={"status.replicas": _replicas},
        default_propagation="Orphan",
    ),
    Strategy(
        "",
        "podtemplates",
        returns_deleted=True,
        generation=lambda obj: obj["template"],
        on_create=lambda obj: drop_from_template(obj["template"]),
        on_update=lambda new, old: drop_from_template(new["template"], old["template"]),
        create_warnings=lambda obj: template_warnings(obj["template"], Path("template")),
        update_warnings=_if_changed(lambda obj: template_warnings(obj["template"], Path("template"))),
    ),
)
