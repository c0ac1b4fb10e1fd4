"""The usage of a namespace recalculated from the stored objects. Pure: the caller reads and writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from steersman.cluster.admission.chain import Reader
from steersman.cluster.admission.quota.evaluators import Evaluator, count_name, evaluator_for, measured
from steersman.cluster.admission.quota.scopes import selectors_of
from steersman.objects.amounts import ZERO, Amounts, added, masked, parsed, texts
from steersman.objects.kinds import Object

__all__ = ["recalculate"]

_COUNT = "count/"


def recalculate(quota: Object, reader: Reader, pending: Iterable[Amounts] = ()) -> Object:
    """The quota as it should be: `status.hard` from its spec, `status.used` from the stored objects of its
    namespace, and what is `pending`: charged for objects that are not stored yet."""
    hard = dict(quota["spec"].get("hard") or {})
    namespace = quota["metadata"].get("namespace", "")
    used: Amounts = {}
    for (group, plural), evaluator in _evaluators(hard):
        names = evaluator.matching(hard)
        used |= _usage(quota, evaluator, reader.list(group, plural, namespace), names)
    for amounts in pending:
        used = added(used, masked(amounts, used))
    known = parsed((quota.get("status") or {}).get("used"))
    used = masked(known, hard) | used
    status = {"hard": dict(sorted(hard.items())), "used": texts(used)}
    return {**quota, "status": {name: amounts for name, amounts in status.items() if amounts}}


def _evaluators(hard: Iterable[str]) -> Iterator[tuple[tuple[str, str], Evaluator]]:
    names = [*hard]
    seen = set()
    for resource, evaluator in measured():
        seen.add(count_name(*resource))
        if evaluator.matching(names):
            yield resource, evaluator
    for name in names:
        if name.startswith(_COUNT) and name not in seen:
            plural, _, group = name[len(_COUNT) :].partition(".")
            yield (group, plural), evaluator_for(group, plural)


def _usage(quota: Object, evaluator: Evaluator, objects: Sequence[Object], names: Iterable[str]) -> Amounts:
    selectors = selectors_of(quota)
    total = dict.fromkeys(names, ZERO)
    for obj in objects:
        if all(evaluator.matches_scope(selector, obj) for selector in selectors):
            total = added(total, masked(evaluator.usage(obj), total))
    return total
