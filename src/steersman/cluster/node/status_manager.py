"""The status manager: sends pod statuses to the API, and deletes pods from it when they have terminated.

A worker only says that its pod has a new status; the status is computed when it is sent. So a pod that starts
quickly is reported once, as running. A few senders serve all nodes of the process, each pod by one at a time.
Requests that fail for want of an API server are repeated; those that the API rejects are dropped.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final, Protocol

from steersman.aio import Backoff, Clock
from steersman.client import ApiError, ClientError, NotFound, ServerError, Unreachable
from steersman.cluster.node.pod_status import status_patch
from steersman.objects.kinds.types.core_v1 import PodStatus
from steersman.objects.resources import PODS
from steersman.runtime import Key, Writes

__all__ = ["StatusManager", "StatusReport", "StatusSource"]

_log = logging.getLogger(__name__)

_SENDERS: Final = 16
_RETRY: Final = Backoff(0.5, 10.0)


@dataclass(frozen=True, slots=True)
class StatusReport:
    """The status of a pod in the API, and its current one."""

    key: Key
    old: PodStatus
    new: PodStatus
    #: Whether nothing is left of the pod but its object.
    delete: bool = False


class StatusSource(Protocol):
    """Computes the status of a pod."""

    @property
    def uid(self) -> str: ...

    async def report(self) -> StatusReport | None:
        """What there is to say now; None if nothing."""
        ...

    def reported(self, report: StatusReport) -> None:
        """The API knows it now."""
        ...


class StatusManager:
    """Sends the statuses of all pods of the process."""

    def __init__(
        self, writes: Writes, clock: Clock, start: Callable[[Coroutine[Any, Any, None]], object]
    ) -> None:
        self._writes = writes
        self._clock = clock
        self._start = start
        self._waiting: dict[str, StatusSource] = {}
        self._sending: set[str] = set()
        self._senders = 0
        self.written = 0
        """How many requests were made."""

    @property
    def busy(self) -> bool:
        """Whether there is something left to be sent."""
        return bool(self._waiting or self._sending)

    def want(self, reporting: StatusSource) -> None:
        """Have somebody report, soon."""
        uid = reporting.uid
        if uid in self._waiting:
            return
        self._waiting[uid] = reporting
        if self._senders < _SENDERS and uid not in self._sending:
            self._senders += 1
            self._start(self._send_all())

    async def _send_all(self) -> None:
        try:
            while (reporting := self._next()) is not None:
                self._sending.add(reporting.uid)
                try:
                    await self._send(reporting)
                finally:
                    self._sending.discard(reporting.uid)
        finally:
            self._senders -= 1

    def _next(self) -> StatusSource | None:
        for uid, reporting in self._waiting.items():
            if uid not in self._sending:
                del self._waiting[uid]
                return reporting
        return None

    async def _send(self, reporting: StatusSource) -> None:
        failures = 0
        while True:
            report = await reporting.report()
            if report is None:
                return
            try:
                await self._write(report, reporting.uid)
            except (Unreachable, ServerError) as error:
                failures += 1
                if failures == 1:
                    _log.warning("cannot write the status of pod %s: %s", report.key, error)
                await self._clock.sleep(_RETRY.wait_s(failures))
                continue
            except NotFound:
                pass
            except ClientError as error:
                _log.warning("the status of pod %s was rejected: %s", report.key, error)
                if isinstance(error, ApiError):
                    return
            reporting.reported(report)
            return

    async def _write(self, report: StatusReport, uid: str) -> None:
        if patch := status_patch(report.old, report.new):
            self.written += 1
            # The uid keeps the report from another pod of the same name.
            body = {"metadata": {"uid": uid}, "status": patch}
            await self._writes.patch(PODS, report.key, body, type="strategic", subresource="status")
        if report.delete:
            self.written += 1
            await self._writes.delete(PODS, report.key, uid, propagation=None, grace_s=0)
