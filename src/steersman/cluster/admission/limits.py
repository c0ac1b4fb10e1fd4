"""The LimitRanger plugin: applies the LimitRanges of a namespace to pods and claims.

New pods get default requests and limits; pods (new or resized) and claims must be within the minimum and
maximum. The totals of a pod come from `pod_totals`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from steersman.cluster.admission.chain import Attributes, Reader
from steersman.cluster.admission.pod_totals import spec_totals
from steersman.objects.amounts import Amounts
from steersman.objects.kinds import Object
from steersman.objects.lifetime import is_deleting
from steersman.objects.quantities import Quantity

__all__ = ["LimitRanger"]

_ANNOTATION: Final = "kubernetes.io/limit-ranger"
#: Amounts up to this are compared in thousandths, larger ones in whole units.
_MOST_IN_MILLIS: Final = (2**63 - 1) // 1000
_ZERO: Final = Quantity(0)


class LimitRanger:
    name = "LimitRanger"

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def handles(self, operation: str, group: str, plural: str, subresource: str) -> bool:
        if group:
            return False
        if plural == "pods":
            return (operation, subresource) in (("CREATE", ""), ("UPDATE", "resize"))
        return plural == "persistentvolumeclaims" and operation in ("CREATE", "UPDATE") and not subresource

    def admit(self, attributes: Attributes) -> None:
        assert attributes.object is not None
        if attributes.plural == "pods":
            for limit_range in self._ranges(attributes):
                _add_defaults(attributes.object, limit_range["spec"]["limits"] or ())

    def validate(self, attributes: Attributes) -> None:
        assert attributes.object is not None
        complaints = _pod_complaints if attributes.plural == "pods" else _claim_complaints
        for limit_range in self._ranges(attributes):
            found = complaints(attributes.object["spec"], limit_range["spec"]["limits"] or ())
            if distinct := list(dict.fromkeys(found)):
                text = ", ".join(distinct)
                raise attributes.refusal(text if len(distinct) == 1 else f"[{text}]")

    def _ranges(self, attributes: Attributes) -> Sequence[Object]:
        if attributes.old is not None and is_deleting(attributes.old):
            return ()
        return self._reader.list("", "limitranges", attributes.namespace)


# --- Defaults


def _add_defaults(pod: Object, limits: Sequence[Object]) -> None:
    given: dict[str, dict[str, str]] = {"requests": {}, "limits": {}}
    for item in limits:
        if item.get("type") == "Container":
            given["requests"] |= item.get("defaultRequest") or {}
            given["limits"] |= item.get("default") or {}
    spec = pod["spec"]
    notes = [
        f"{', '.join(added)} {noun} for {what} {container.get('name', '')}"
        for what, field in (("container", "containers"), ("init container", "initContainers"))
        for container in spec.get(field) or ()
        for noun, part in (("request", "requests"), ("limit", "limits"))
        if (added := _fill(container["resources"], part, given[part]))
    ]
    if notes:
        annotations = pod["metadata"].setdefault("annotations", {})
        annotations[_ANNOTATION] = f"LimitRanger plugin set: {'; '.join(notes)}"


def _fill(resources: Object, part: str, defaults: dict[str, str]) -> list[str]:
    """Add the defaults that are not given; their names."""
    amounts = resources.get(part) or {}
    added = sorted(defaults.keys() - amounts.keys())
    if added:
        resources[part] = dict(sorted((defaults | amounts).items()))
    return added


# --- Constraints

#: (type of limit, resource, the constraint's amount, requests, limits) → what is wrong, or "".
_Constraint = Callable[[str, str, Quantity, Amounts, Amounts], str]


def _comparable(*amounts: Quantity) -> list[int]:
    """The amounts in a precision that all of them have."""
    whole = [amount.value for amount in amounts]
    if any(value > _MOST_IN_MILLIS for value in whole):
        return whole
    return [amount.milli_value for amount in amounts]


def _minimum(kind: str, name: str, enforced: Quantity, requests: Amounts, limits: Amounts) -> str:
    text = f"minimum {name} usage per {kind} is {enforced}"
    request, limit = requests.get(name), limits.get(name)
    if request is None:
        return f"{text}.  No request is specified"
    asked, most, least = _comparable(request, limit or _ZERO, enforced)
    if asked < least:
        return f"{text}, but request is {request}"
    if limit is not None and most < least:
        return f"{text}, but limit is {limit}"
    return ""


def _maximum(kind: str, name: str, enforced: Quantity, requests: Amounts, limits: Amounts) -> str:
    text = f"maximum {name} usage per {kind} is {enforced}"
    request, limit = requests.get(name), limits.get(name)
    if limit is None:
        return f"{text}.  No limit is specified"
    asked, most, bound = _comparable(request or _ZERO, limit, enforced)
    if most > bound:
        return f"{text}, but limit is {limit}"
    if asked > bound:
        return f"{text}, but request is {request}"
    return ""


def _maximum_request(kind: str, name: str, enforced: Quantity, requests: Amounts, limits: Amounts) -> str:
    """For what has no limits: claims."""
    text = f"maximum {name} usage per {kind} is {enforced}"
    request = requests.get(name)
    if request is None:
        return f"{text}.  No request is specified"
    asked, bound = _comparable(request, enforced)
    return f"{text}, but request is {request}" if asked > bound else ""


def _ratio(kind: str, name: str, enforced: Quantity, requests: Amounts, limits: Amounts) -> str:
    text = f"{name} max limit to request ratio per {kind} is {enforced}"
    request, limit = requests.get(name, _ZERO), limits.get(name, _ZERO)
    if not request:
        return f"{text}, but no request is specified or request is 0"
    if not limit:
        return f"{text}, but no limit is specified or limit is 0"
    asked, most, _ = _comparable(request, limit, enforced)
    ratio = most / asked
    if enforced.value <= _MOST_IN_MILLIS:
        exceeded = ratio * 1000 > enforced.milli_value
    else:
        exceeded = ratio > enforced.value
    return f"{text}, but provided ratio is {ratio:f}" if exceeded else ""


_CONSTRAINTS: Final[tuple[tuple[str, _Constraint], ...]] = (
    ("min", _minimum),
    ("max", _maximum),
    ("maxLimitRequestRatio", _ratio),
)
_CLAIM_CONSTRAINTS: Final[tuple[tuple[str, _Constraint], ...]] = (
    ("min", _minimum),
    ("max", _maximum_request),
)


def _complaints(
    item: Object, constraints: Iterable[tuple[str, _Constraint]], requests: Amounts, limits: Amounts
) -> Iterator[str]:
    for field, constraint in constraints:
        for name, amount in sorted((item.get(field) or {}).items()):
            if text := constraint(item["type"], name, Quantity.parse(amount), requests, limits):
                yield text


def _amounts(resources: Object, part: str) -> Amounts:
    return {name: Quantity.parse(text) for name, text in (resources.get(part) or {}).items()}


def _pod_complaints(spec: Object, limits: Sequence[Object]) -> Iterator[str]:
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    for item in limits:
        if item.get("type") == "Container":
            for container in containers:
                resources = container["resources"]
                requested, limited = _amounts(resources, "requests"), _amounts(resources, "limits")
                yield from _complaints(item, _CONSTRAINTS, requested, limited)
        elif item.get("type") == "Pod":
            requested, limited = spec_totals(spec, "requests"), spec_totals(spec, "limits")
            yield from _complaints(item, _CONSTRAINTS, requested, limited)


def _claim_complaints(spec: Object, limits: Sequence[Object]) -> Iterator[str]:
    for item in limits:
        if item.get("type") == "PersistentVolumeClaim":
            yield from _complaints(item, _CLAIM_CONSTRAINTS, _amounts(spec["resources"], "requests"), {})
