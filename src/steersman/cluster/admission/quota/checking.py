"""Whether a write fits the quotas of its namespace, and their usage afterwards. Pure: no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from steersman.cluster.admission.chain import Attributes
from steersman.cluster.admission.quota.evaluators import Evaluator
from steersman.cluster.admission.quota.scopes import ScopeSelector, selectors_of
from steersman.objects.amounts import (
    Amounts,
    added,
    increase,
    masked,
    parsed,
    printed,
)
from steersman.objects.kinds import Object
from steersman.objects.status import StatusError

__all__ = ["LimitedResource", "QuotaUsage", "check", "matches"]


@dataclass(frozen=True, slots=True)
class LimitedResource:
    """A resource that may only be used in a namespace with a quota for it (LimitedResources)."""

    group: str
    plural: str
    #: Parts of amounts' names.
    contains: tuple[str, ...] = ()
    scopes: tuple[ScopeSelector, ...] = ()


@dataclass(slots=True)
class QuotaUsage:
    """A quota with its usage after everything that has been decided so far."""

    quota: Object
    hard: Amounts = field(init=False)
    used: Amounts = field(init=False)

    def __post_init__(self) -> None:
        status = self.quota.get("status") or {}
        self.hard = parsed(status.get("hard"))
        self.used = parsed(status.get("used"))

    @property
    def name(self) -> str:
        return str(self.quota["metadata"]["name"])

    @property
    def uid(self) -> str:
        return str(self.quota["metadata"]["uid"])


def matches(evaluator: Evaluator, account: QuotaUsage, obj: Object) -> bool:
    return bool(evaluator.matching(account.hard)) and all(
        evaluator.matches_scope(selector, obj) for selector in selectors_of(account.quota)
    )


def check(
    accounts: Sequence[QuotaUsage],
    attributes: Attributes,
    evaluator: Evaluator,
    limited: Sequence[LimitedResource] = (),
) -> dict[str, Amounts]:
    """What the write costs, by the uid of each quota. Raises StatusError when it does not fit."""
    obj = attributes.object
    assert obj is not None
    concerned = _concerned(accounts, attributes, evaluator, obj)
    usage = evaluator.usage(obj)
    if negative := [name for name, amount in usage.items() if amount.sign < 0]:
        names = ",".join(sorted(negative))
        raise attributes.refusal(f"quota usage is negative for resource(s): {names}")
    costs, whole = _costs(concerned, attributes, evaluator, usage)
    if not (costs if concerned else whole):
        return {}
    if limited:
        _check_covered(accounts, concerned, attributes, evaluator, limited)
    charges = {}
    for account in concerned:
        cost = masked(costs.get(account.uid, {}), account.hard)
        if cost and attributes.subresource != "status":
            _check_fits(account, attributes, cost)
        if cost:
            charges[account.uid] = cost
    return charges


def _concerned(
    accounts: Sequence[QuotaUsage], attributes: Attributes, evaluator: Evaluator, obj: Object
) -> list[QuotaUsage]:
    """The quotas that are about the object, if it says all that they demand."""
    concerned = []
    for account in accounts:
        if not matches(evaluator, account, obj):
            continue
        names = evaluator.matching(account.hard)
        if missing := evaluator.missing(names, obj):
            raise attributes.refusal(f"failed quota: {account.name}: {missing}")
        if any(name not in account.used for name in names):
            shown = ",".join(sorted(names))
            raise attributes.refusal(f"status unknown for quota: {account.name}, resources: {shown}")
        concerned.append(account)
    return concerned


def _costs(
    concerned: Sequence[QuotaUsage], attributes: Attributes, evaluator: Evaluator, usage: Amounts
) -> tuple[Mapping[str, Amounts], Amounts]:
    """By quota, and where there is none. An update costs the difference where the quota already counted
    the object before."""
    usage = {name: amount for name, amount in usage.items() if amount}
    old = attributes.old
    if old is None:
        return ({account.uid: usage for account in concerned} if usage else {}), usage
    more = increase(usage, evaluator.usage(old))
    costs = {account.uid: more if matches(evaluator, account, old) else usage for account in concerned}
    return {uid: cost for uid, cost in costs.items() if cost}, more


def _check_fits(account: QuotaUsage, attributes: Attributes, cost: Amounts) -> None:
    total = added(account.used, cost)
    exceeded = [name for name in cost if total[name] > account.hard[name]]
    if exceeded:
        raise attributes.refusal(
            f"exceeded quota: {account.name}, requested: {printed(masked(cost, exceeded))}, "
            f"used: {printed(masked(account.used, exceeded))}, "
            f"limited: {printed(masked(account.hard, exceeded))}"
        )


def _check_covered(
    accounts: Sequence[QuotaUsage],
    concerned: Sequence[QuotaUsage],
    attributes: Attributes,
    evaluator: Evaluator,
    limited: Sequence[LimitedResource],
) -> None:
    obj = attributes.object
    assert obj is not None
    ours = [each for each in limited if (each.group, each.plural) == (attributes.group, attributes.plural)]
    consumed = [name for name, amount in evaluator.usage(obj).items() if amount.sign > 0]
    needed = {name for each in ours for name in consumed if any(part in name for part in each.contains)}
    covered = {name for account in concerned for name in evaluator.matching(account.hard)}
    if uncovered := sorted(needed - covered):
        raise attributes.refusal(f"insufficient quota to consume: {','.join(uncovered)}")
    selected = [
        selector
        for account in accounts
        for selector in selectors_of(account.quota)
        if evaluator.matches_scope(selector, obj)
    ]
    scopes = {selector.scope for selector in selected}
    open_scopes = [
        selector
        for each in limited
        for selector in each.scopes
        if evaluator.matches_scope(selector, obj) and selector.scope not in scopes
    ]
    if open_scopes:
        shown = " ".join(map(str, open_scopes))
        raise StatusError(500, "", f"insufficient quota to match these scopes: [{shown}]")
