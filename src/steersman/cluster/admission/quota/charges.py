"""Charging writes to quotas: the usage in a ResourceQuota's status, updated before the object is stored.

Concurrent writes to a namespace are decided in one batch: each against the usage the ones before it leave,
then every changed quota is written once, by compare-and-swap. So a hundred parallel creates cost a handful of
writes, and the usage never exceeds the limit. When another process changed a quota meanwhile, the batch is
decided again.

A charge is *pending* until its object is stored or the write has failed. A recalculation adds pending
charges, so that writes in progress are not lost; a failed write takes its charge back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from steersman.aio import Scope
from steersman.cluster.admission.chain import Attributes, Reader
from steersman.cluster.admission.quota.checking import LimitedResource, QuotaUsage, check
from steersman.cluster.admission.quota.evaluators import evaluator_for
from steersman.cluster.admission.quota.recounting import recalculate
from steersman.objects.amounts import Amounts, added, parsed, subtracted, texts
from steersman.objects.kinds import Object
from steersman.objects.status import StatusError, modified

__all__ = ["Charge", "QuotaCharges", "UpdateStatus"]

#: Store the quota `new` if the one stored is still `old`; False when it is not, or is gone.
UpdateStatus = Callable[[Object, Object], Awaitable[bool]]
#: What a write costs by the uid of each quota, or why it may not be.
_Decision = Mapping[str, Amounts] | StatusError

_TRIES = 4


class Charge:
    """The usage of one write, by the uid of each quota."""

    def __init__(self, charges: QuotaCharges, namespace: str, costs: Mapping[str, Amounts]) -> None:
        self._charges = charges
        self.namespace = namespace
        self.costs = costs
        #: Set when usage was counted while the write was under way: it may have been counted twice.
        self.recounted = False

    async def settle(self, *, stored: bool) -> None:
        self._charges.settle(self, stored=stored)


@dataclass(slots=True)
class _Request:
    """A write that waits for its decision."""

    attributes: Attributes
    answer: asyncio.Future[Charge | None]


@dataclass(slots=True)
class _NamespaceCharges:
    """The waiting writes and pending charges of one namespace."""

    waiting: list[_Request] = field(default_factory=list)
    released: list[Mapping[str, Amounts]] = field(default_factory=list)
    recounts: list[asyncio.Future[None]] = field(default_factory=list)
    pending: set[Charge] = field(default_factory=set)
    busy: bool = False

    @property
    def idle(self) -> bool:
        return not (self.waiting or self.released or self.recounts)


class QuotaCharges:
    """The charges of all namespaces."""

    def __init__(
        self,
        reader: Reader,
        update_status: UpdateStatus,
        scope: Scope,
        limited: Sequence[LimitedResource] = (),
    ) -> None:
        self._reader = reader
        self._update_status = update_status
        self._scope = scope
        self._limited = limited
        self._desks: dict[str, _NamespaceCharges] = {}

    # --- Orders

    async def charge(self, attributes: Attributes) -> Charge | None:
        """Charge a write; None when it costs nothing. Raises StatusError when it does not fit."""
        answer: asyncio.Future[Charge | None] = asyncio.get_running_loop().create_future()
        desk = self._desk(attributes.namespace)
        desk.waiting.append(_Request(attributes, answer))
        self._work(attributes.namespace, desk)
        try:
            return await answer
        except asyncio.CancelledError:
            # Charged already, but there will be no write.
            if answer.done() and not answer.cancelled() and not answer.exception():
                charge = answer.result()
                if charge is not None:
                    self.settle(charge, stored=False)
            raise

    def settle(self, charge: Charge, *, stored: bool) -> None:
        """The write that was charged has ended. What it gives back comes before all later charges."""
        desk = self._desk(charge.namespace)
        desk.pending.discard(charge)
        if not stored:
            desk.released.append(charge.costs)
        elif charge.recounted:
            desk.recounts.append(asyncio.get_running_loop().create_future())
        self._work(charge.namespace, desk)

    async def recount(self, namespace: str) -> None:
        """Count anew what the namespace uses, and tell its quotas. Those who ask together share the work."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        desk = self._desk(namespace)
        desk.recounts.append(done)
        self._work(namespace, desk)
        await done

    def _desk(self, namespace: str) -> _NamespaceCharges:
        return self._desks.setdefault(namespace, _NamespaceCharges())

    # --- Work

    def _work(self, namespace: str, desk: _NamespaceCharges) -> None:
        if desk.busy:
            return
        if not desk.idle:
            desk.busy = True
            self._scope.start(self._serve(namespace, desk), name=f"quota of {namespace}")
        elif not desk.pending:
            self._desks.pop(namespace, None)

    async def _serve(self, namespace: str, desk: _NamespaceCharges) -> None:
        try:
            while not desk.idle:
                if desk.recounts:
                    await self._recount(namespace, desk)
                await self._decide(namespace, desk)
        finally:
            # A worker that was stopped leaves nobody waiting.
            for request in desk.waiting:
                request.answer.cancel()
            for recount in desk.recounts:
                recount.cancel()
            desk.busy = False
            if not desk.pending:
                self._desks.pop(namespace, None)

    async def _recount(self, namespace: str, desk: _NamespaceCharges) -> None:
        done, desk.recounts = desk.recounts, []
        # What failed writes give back is not stored, so it is not counted.
        desk.released.clear()
        for charge in desk.pending:
            charge.recounted = True
        with _failing_together(done):
            for _ in range(_TRIES):
                pairs = [(q, self._recalculated(q, desk)) for q in self._quotas(namespace)]
                if all([await self._update_status(old, new) for old, new in pairs if old != new]):
                    break
            for future in done:
                if not future.done():
                    future.set_result(None)

    def _recalculated(self, quota: Object, desk: _NamespaceCharges) -> Object:
        uid = quota["metadata"]["uid"]
        pending = [charge.costs[uid] for charge in desk.pending if uid in charge.costs]
        return recalculate(quota, self._reader, pending)

    def _quotas(self, namespace: str) -> Sequence[Object]:
        return self._reader.list("", "resourcequotas", namespace)

    async def _decide(self, namespace: str, desk: _NamespaceCharges) -> None:
        requests, desk.waiting = desk.waiting, []
        released, desk.released = desk.released, []
        with _failing_together([request.answer for request in requests]):
            decisions = await self._decisions(namespace, [r.attributes for r in requests], released)
            for request, decision in zip(requests, decisions, strict=True):
                self._answer(namespace, desk, request.answer, decision)

    async def _decisions(
        self, namespace: str, writes: Sequence[Attributes], released: Sequence[Mapping[str, Amounts]]
    ) -> Sequence[_Decision]:
        for _ in range(_TRIES):
            accounts = [QuotaUsage(quota) for quota in self._quotas(namespace)]
            for costs in released:
                _give_back(accounts, costs)
            decisions = [self._check(accounts, attributes) for attributes in writes]
            conflicts = await self._write(accounts)
            if not conflicts:
                return decisions
            released = _to_give_back(conflicts, decisions, released)
        # Whatever could not be given back is put right by the next count.
        refused = modified("", "resourcequotas", conflicts[0].name)
        return [refused if isinstance(decision, dict) and decision else decision for decision in decisions]

    def _check(self, accounts: Sequence[QuotaUsage], attributes: Attributes) -> _Decision:
        evaluator = evaluator_for(attributes.group, attributes.plural)
        try:
            costs = check(accounts, attributes, evaluator, self._limited)
        except StatusError as error:
            return error
        if attributes.dry_run:
            return {}
        for account in accounts:
            if account.uid in costs:
                account.used = added(account.used, costs[account.uid])
        return costs

    async def _write(self, accounts: Sequence[QuotaUsage]) -> list[QuotaUsage]:
        """Write the quotas that changed. Those that somebody else changed first."""
        conflicts = []
        for account in accounts:
            status = account.quota.get("status") or {}
            if account.used == parsed(status.get("used")):
                continue
            new = {**account.quota, "status": {**status, "used": texts(account.used)}}
            if not await self._update_status(account.quota, new):
                conflicts.append(account)
        return conflicts

    def _answer(
        self,
        namespace: str,
        desk: _NamespaceCharges,
        answer: asyncio.Future[Charge | None],
        decision: _Decision,
    ) -> None:
        if isinstance(decision, StatusError):
            if not answer.done():
                answer.set_exception(decision)
        elif answer.done():
            # The client left while its write was decided.
            if decision:
                desk.released.append(decision)
        elif decision:
            charge = Charge(self, namespace, decision)
            desk.pending.add(charge)
            answer.set_result(charge)
        else:
            answer.set_result(None)


def _give_back(accounts: Sequence[QuotaUsage], costs: Mapping[str, Amounts]) -> None:
    for account in accounts:
        if account.uid in costs:
            account.used = subtracted(account.used, costs[account.uid])


def _to_give_back(
    conflicts: Sequence[QuotaUsage],
    decisions: Sequence[_Decision],
    released: Sequence[Mapping[str, Amounts]],
) -> list[Mapping[str, Amounts]]:
    """Before another try: what was to be given back and could not be written, and what was written for
    decisions that are made again."""
    failed = {account.uid for account in conflicts}
    again = [{uid: cost for uid, cost in costs.items() if uid in failed} for costs in released]
    again += [
        {uid: cost for uid, cost in decision.items() if uid not in failed}
        for decision in decisions
        if not isinstance(decision, StatusError)
    ]
    return [costs for costs in again if costs]


@contextmanager
def _failing_together(futures: Sequence[asyncio.Future[Any]]) -> Iterator[None]:
    """Whoever waits learns of a failure; the worker goes on with the next."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - whatever it is, it is handed on
        for future in futures:
            if not future.done():
                future.set_exception(error)
    except BaseException:
        for future in futures:
            future.cancel()
        raise
