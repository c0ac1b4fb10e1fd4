"""Job and CronJob: pods that run to their end, once or by the clock.

Unless said otherwise a failed pod is not started again in place (`restartPolicy: Never`): the job makes a
new one, and the failed one stays to be looked at.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final, Self, get_args

from steersman.objects import resources
from steersman.objects.builders.pod_template import PodTemplate
from steersman.objects.cron import is_known_time_zone, schedule_error
from steersman.objects.kinds.enums import ConcurrencyPolicy
from steersman.objects.names import NameCheck, max_length_message, name_is_dns_subdomain

__all__ = ["CronJob", "Job"]

_CONCURRENCIES: Final = get_args(ConcurrencyPolicy)
_ANY_TIME_ZONE: Final = "Etc/UTC"
#: The controller appends eleven characters to the name of each job it makes.
_CRON_NAME_LENGTH: Final = 52


class _Batch(PodTemplate):
    """What a job, or a cron job for all its jobs, can say."""

    __slots__ = ()

    _restart_policies: ClassVar[tuple[str, ...]] = ("Never", "OnFailure")
    #: Where the spec of the job stands in the object.
    _job_path: ClassVar[tuple[str, ...]]

    def backoff_limit(self, retries: int) -> Self:
        """How many pods may fail before the job does."""
        return self._put_count("backoffLimit", retries)

    def completions(self, count: int) -> Self:
        return self._put_count("completions", count)

    def parallelism(self, count: int) -> Self:
        return self._put_count("parallelism", count)

    def indexed(self, completions: int) -> Self:
        """One completion for each index from 0 on; pods find theirs in JOB_COMPLETION_INDEX."""
        return self._put_job("completionMode", "Indexed").completions(completions)

    def active_deadline(self, seconds: int) -> Self:
        """The job fails when it takes longer."""
        return self._put_count("activeDeadlineSeconds", seconds, 1)

    def ttl_after_finished(self, seconds: int) -> Self:
        """How long a finished job is kept."""
        return self._put_count("ttlSecondsAfterFinished", seconds)

    def _put_job(self, field: str, value: Any) -> Self:
        spec = self._edit()
        for step in self._job_path:
            spec = spec.setdefault(step, {})
        spec[field] = value
        return self

    def _put_count(self, field: str, value: int, low: int = 0) -> Self:
        return self._put_job(field, self._count(".".join((*self._job_path, field)), value, low))

    def _complete(self, obj: dict[str, Any]) -> None:
        self._pod(obj).setdefault("spec", {}).setdefault("restartPolicy", "Never")
        super()._complete(obj)


class Job(_Batch):
    """`Job("migrate").backoff_limit(3).container(Container("job").image("app:1").command("migrate"))`."""

    __slots__ = ()

    resource_type: ClassVar = resources.JOBS
    _job_path: ClassVar[tuple[str, ...]] = ("spec",)

    def suspend(self, value: bool = True) -> Self:
        return self._put_job("suspend", self._flag("spec.suspend", value))


def _cron_job_name(name: str, prefix: bool = False) -> list[str]:
    if len(name) > _CRON_NAME_LENGTH:
        return [max_length_message(_CRON_NAME_LENGTH)]
    return name_is_dns_subdomain(name, prefix)


class CronJob(_Batch):
    """`CronJob("nightly").schedule("0 3 * * *").container(…)`."""

    __slots__ = ()

    resource_type: ClassVar = resources.CRON_JOBS
    _name_rule: ClassVar[NameCheck] = staticmethod(_cron_job_name)
    _job_path: ClassVar[tuple[str, ...]] = ("spec", "jobTemplate", "spec")
    _pod_path: ClassVar[tuple[str, ...]] = (*_job_path, "template")

    def schedule(self, schedule: str, time_zone: str | None = None) -> Self:
        """When: `"0 * * * *"`, `"@daily"`; in a time zone such as "Europe/Berlin"."""
        problem = schedule_error(self._text("spec.schedule", schedule))
        if problem:
            raise self._error("spec.schedule", f"{schedule!r}: {problem}")
        if "TZ" in schedule:
            raise self._error("spec.schedule", "the time zone goes into time_zone, not into the schedule")
        self._put_spec("schedule", schedule)
        if time_zone is not None:
            known = is_known_time_zone(self._text("spec.timeZone", time_zone))
            # A machine without a time zone database cannot judge; the API will.
            if not known and is_known_time_zone(_ANY_TIME_ZONE):
                raise self._error("spec.timeZone", f"{time_zone!r} is not a known time zone")
            self._put_spec("timeZone", time_zone)
        return self

    def concurrency(self, policy: ConcurrencyPolicy) -> Self:
        """What happens when a job is due while the last one still runs."""
        field = "concurrencyPolicy"
        return self._put_spec(field, self._choice(f"spec.{field}", policy, _CONCURRENCIES))

    def starting_deadline(self, seconds: int) -> Self:
        """A job that could not start for this long is left out."""
        field = "startingDeadlineSeconds"
        return self._put_spec(field, self._count(f"spec.{field}", seconds))

    def history(self, *, successful: int | None = None, failed: int | None = None) -> Self:
        """How many finished jobs are kept."""
        given = {"successfulJobsHistoryLimit": successful, "failedJobsHistoryLimit": failed}
        for field, count in given.items():
            if count is not None:
                self._put_spec(field, self._count(f"spec.{field}", count))
        return self

    def suspend(self, value: bool = True) -> Self:
        return self._put_spec("suspend", self._flag("spec.suspend", value))

    def _complete(self, obj: dict[str, Any]) -> None:
        if not (obj.get("spec") or {}).get("schedule"):
            raise self._error("spec.schedule", "when? Call schedule('0 * * * *')")
        super()._complete(obj)
