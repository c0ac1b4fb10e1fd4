"""Which names a custom resource definition gets: the status that says so, as a pure function.

A name in use by another definition of the group is not given; the others are. The API server calls this
after every write of a definition and, when one frees names, for the others of its group.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from steersman.objects.fields import quote
from steersman.objects.kinds import Object

__all__ = ["approval_condition", "condition_is_true", "established", "named_status", "set_condition"]


_APPROVAL: Final = "api-approved.kubernetes.io"
_PULL: Final = "see https://github.com/kubernetes/enhancements/pull/1111"
#: The name, the reason when another definition has it, and whether it is a kind.
_NAMES: Final = (
    ("plural", "PluralConflict", False),
    ("singular", "SingularConflict", False),
    ("shortNames", "ShortNamesConflict", False),
    ("kind", "KindConflict", True),
    ("listKind", "ListKindConflict", True),
)


def condition_is_true(definition: Object, kind: str) -> bool:
    found = _condition(definition.get("status") or {}, kind)
    return found is not None and found.get("status") == "True"


def _condition(status: Object, kind: str) -> Object | None:
    return next((each for each in status.get("conditions") or () if each.get("type") == kind), None)


def set_condition(status: Object, condition: Object, now: str) -> Object:
    """A status with a condition put in; its time changes when its status does."""
    old = _condition(status, condition["type"])
    changed = old is None or old.get("status") != condition["status"] or not old.get("lastTransitionTime")
    since = now if old is None or changed else old["lastTransitionTime"]
    made = {
        "type": condition["type"],
        "status": condition["status"],
        "lastTransitionTime": since,
        "reason": condition["reason"],
        "message": condition["message"],
    }
    conditions = list(status.get("conditions") or ())
    if old is None:
        conditions.append(made)
    else:
        conditions[conditions.index(old)] = {**old, **made}
    return {**status, "conditions": conditions}


def named_status(definition: Object, others: Iterable[Object], now: str) -> Object:
    """The definition's status with the names it gets and the conditions that follow.

    `others` are the other definitions of any group. Equal to the old status when nothing changes.
    """
    status: Object = definition["status"]
    requested: Object = definition["spec"]["names"]
    accepted: Object = status.get("acceptedNames") or {}
    if requested == accepted:
        return status
    taken = _taken([other for other in others if other["spec"]["group"] == definition["spec"]["group"]])
    got, condition = _accept(requested, accepted, taken)
    made = set_condition({**status, "acceptedNames": got}, condition, now)
    return set_condition(made, _established(status, condition), now)


def _taken(group: Sequence[Object]) -> dict[bool, set[str]]:
    """The names of resources and of kinds that other definitions have."""
    names = [(other.get("status") or {}).get("acceptedNames") or {} for other in group]
    resources = {name for each in names for name in (each.get("plural"), each.get("singular")) if name}
    resources |= {name for each in names for name in each.get("shortNames") or ()}
    kinds = {name for each in names for name in (each.get("kind"), each.get("listKind")) if name}
    return {False: resources, True: kinds}


def _accept(requested: Object, accepted: Object, taken: dict[bool, set[str]]) -> tuple[Object, Object]:
    got = dict(accepted)
    condition = {
        "type": "NamesAccepted",
        "status": "True",
        "reason": "NoConflicts",
        "message": "no conflicts found",
    }
    for key, reason, is_kind in _NAMES:
        wanted, had = requested.get(key), accepted.get(key)
        names = (
            [wanted or ""]
            if key != "shortNames"
            else [each for each in wanted or () if each not in (had or ())]
        )
        conflicts = [name for name in names if name in taken[is_kind] and name != had]
        if conflicts:
            texts = [f"{quote(name)} is already in use" for name in conflicts]
            message = texts[0] if len(texts) == 1 else f"[{', '.join(dict.fromkeys(texts))}]"
            condition |= {"status": "False", "reason": reason, "message": message}
        else:
            _put(got, key, wanted)
    _put(got, "categories", requested.get("categories"))
    return got, condition


def _put(names: Object, key: str, value: Any) -> None:
    if value:
        names[key] = value
    else:
        names.pop(key, None)


def _established(status: Object, naming: Object) -> Object:
    old = _condition(status, "Established")
    if naming["status"] == "True" and (old is None or old.get("status") != "True"):
        return _not_yet("Installing", "the initial names have been accepted")
    return old or _not_yet("NotAccepted", "not all names are accepted")


def _not_yet(reason: str, message: str) -> Object:
    return {"type": "Established", "status": "False", "reason": reason, "message": message}


def established(definition: Object, now: str, *, ca_bundle_valid: bool = True) -> Object:
    """The status of a definition whose resources are served now; unchanged until its names are accepted."""
    status: Object = definition["status"]
    if not condition_is_true(definition, "NamesAccepted") or condition_is_true(definition, "Established"):
        return status
    if not ca_bundle_valid:
        return set_condition(
            status, _not_yet("InvalidCABundle", "The conversion webhook CABundle is invalid"), now
        )
    condition = {
        "type": "Established",
        "status": "True",
        "reason": "InitialNamesAccepted",
        "message": "the initial names have been accepted",
    }
    return set_condition(status, condition, now)


def approval_condition(definition: Object) -> Object | None:
    """Whether a definition in Kubernetes' own groups was approved; None for all other groups."""
    if not is_protected(definition["spec"].get("group", "")):
        return None
    state, reason = approval(definition)
    status = "True" if state == "ApprovedAnnotation" else "False"
    return {
        "type": "KubernetesAPIApprovalPolicyConformant",
        "status": status,
        "reason": state,
        "message": reason,
    }


def is_protected(group: str) -> bool:
    """Whether a group belongs to the Kubernetes community."""
    return any(group == own or group.endswith("." + own) for own in ("k8s.io", "kubernetes.io"))


def approval(definition: Object) -> tuple[str, str]:
    """What the approval annotation says, as a condition's reason, and in words."""
    text: str = (definition["metadata"].get("annotations") or {}).get(_APPROVAL, "")
    scheme, _, rest = text.partition("://")
    needed = f"protected groups must have approval annotation {quote(_APPROVAL)}"
    if not text:
        return "MissingAnnotation", f"{needed}, {_PULL}"
    if text.startswith("unapproved"):
        return "UnapprovedAnnotation", f"not approved: {quote(text)}"
    if scheme.isalnum() and rest.partition("/")[0]:
        return "ApprovedAnnotation", f"approved in {text}"
    return (
        "InvalidAnnotation",
        f'{needed} with either a URL or a reason starting with "unapproved", {_PULL}',
    )
