"""Validation of rbac.authorization.k8s.io: roles, cluster roles and their bindings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from steersman.cluster.schema.validation.internal_values import Shape, as_internal
from steersman.cluster.schema.validation.rules import (
    Check,
    LateCheck,
    Object,
    Revalidation,
    Rules,
    UpdateCheck,
    invalids,
)
from steersman.objects.errors import SelectorError
from steersman.objects.fields import FieldError, Path, invalid, not_supported, required
from steersman.objects.metadata import validate_label_selector
from steersman.objects.names import is_dns1123_subdomain, is_path_segment_name, name_is_path_segment
from steersman.objects.selectors import LabelSelector

__all__ = ["RULES", "validate_policy_rule"]

_GROUP: Final = "rbac.authorization.k8s.io"
_RULES: Final = Path("rules")
_SUBJECTS: Final = Path("subjects")
_ROLE_REF: Final = Path("roleRef")
_ROLE_REF_SHAPE: Final[Shape] = (("apiGroup", "APIGroup", ""), ("kind", "Kind", ""), ("name", "Name", ""))


def validate_policy_rule(rule: Object, namespaced: bool, path: Path) -> list[FieldError]:
    urls = rule.get("nonResourceURLs")
    if urls:
        errors = []
        at = path.child("nonResourceURLs")
        if namespaced:
            errors.append(invalid(at, urls, "namespaced rules cannot apply to non-resource URLs"))
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            text = "rules cannot apply to both regular resources and non-resource URLs"
            errors.append(invalid(at, urls, text))
        return errors
    errors = []
    if not rule.get("apiGroups"):
        errors.append(required(path.child("apiGroups"), "resource rules must supply at least one api group"))
    if not rule.get("resources"):
        errors.append(required(path.child("resources"), "resource rules must supply at least one resource"))
    return errors


def _policy_rules(obj: Object, namespaced: bool) -> list[FieldError]:
    return [
        error
        for number, rule in enumerate(obj.get("rules") or ())
        for error in validate_policy_rule(rule, namespaced, _RULES.index(number))
    ]


def _role(obj: Object) -> list[FieldError]:
    return _policy_rules(obj, namespaced=True)


def _cluster_role(obj: Object) -> list[FieldError]:
    errors = _policy_rules(obj, namespaced=False)
    rule = obj.get("aggregationRule")
    if rule is None:
        return errors
    path = Path("aggregationRule").child("clusterRoleSelectors")
    selectors = rule.get("clusterRoleSelectors") or ()
    if not selectors:
        text = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        errors.append(required(path, text))
    for number, selector in enumerate(selectors):
        at = path.index(number)
        errors += validate_label_selector(selector, at)
        try:
            LabelSelector.from_object(selector)
        except SelectorError:
            errors.append(invalid(at, None, "invalid label selector."))
    return errors


def _declared_verbs(obj: Object, old: Object | None) -> list[FieldError]:
    if old is not None and obj.get("rules") == old.get("rules"):
        return []
    return [
        required(_RULES.index(number).child("verbs"))
        for number, rule in enumerate(obj.get("rules") or ())
        if not rule.get("verbs")
    ]


def _binding(roles: tuple[str, ...], namespaced: bool) -> Check:
    """The checks of a binding to roles of these kinds."""

    def check(obj: Object) -> list[FieldError]:
        reference = obj.get("roleRef") or {}
        group, kind, name = (reference.get(field, "") for field in ("apiGroup", "kind", "name"))
        errors = []
        if group != _GROUP:
            errors.append(not_supported(_ROLE_REF.child("apiGroup"), group, [_GROUP]))
        if kind not in roles:
            errors.append(not_supported(_ROLE_REF.child("kind"), kind, roles))
        errors += invalids(_ROLE_REF.child("name"), name, is_path_segment_name(name))
        for number, subject in enumerate(obj.get("subjects") or ()):
            errors += _subject(subject, namespaced, _SUBJECTS.index(number))
        return errors

    return check


def _subject(subject: Object, namespaced: bool, path: Path) -> list[FieldError]:
    kind, name, group = (subject.get(field, "") for field in ("kind", "name", "apiGroup"))
    if kind == "ServiceAccount":
        errors = invalids(path.child("name"), name, is_dns1123_subdomain(name)) if name else []
        if group:
            errors.append(not_supported(path.child("apiGroup"), group, [""]))
        if not namespaced and not subject.get("namespace"):
            errors.append(required(path.child("namespace")))
        return errors
    if kind in ("User", "Group"):
        return [] if group == _GROUP else [not_supported(path.child("apiGroup"), group, [_GROUP])]
    return [not_supported(path.child("kind"), kind, ("ServiceAccount", "User", "Group"))]


def _binding_update(obj: Object, old: Object) -> list[FieldError]:
    reference = obj.get("roleRef") or {}
    if reference == (old.get("roleRef") or {}):
        return []
    # The declared rule for the name is not asked about a reference that may not change anyway.
    errors = [] if reference.get("name") else [required(_ROLE_REF.child("name"))]
    return [*errors, invalid(_ROLE_REF, as_internal(reference, _ROLE_REF_SHAPE), "field is immutable")]


def _declared_names(obj: Object, old: Object | None) -> list[FieldError]:
    errors = []
    if old is None or obj.get("subjects") != old.get("subjects"):
        errors += [_SUBJECTS.index(number).child("name") for number in _nameless(obj.get("subjects") or ())]
    if old is None and not (obj.get("roleRef") or {}).get("name"):
        errors.append(_ROLE_REF.child("name"))
    return [required(path) for path in errors]


def _nameless(subjects: Iterable[Object]) -> list[int]:
    return [number for number, subject in enumerate(subjects) if not subject.get("name")]


def _rules(create: Check, late: LateCheck, update: UpdateCheck | None = None) -> Rules:
    return Rules(
        name=name_is_path_segment,
        create=create,
        update=update,
        late=late,
        revalidation=Revalidation.BEFORE,
    )


RULES: Final = {
    (_GROUP, "Role"): _rules(_role, _declared_verbs),
    (_GROUP, "ClusterRole"): _rules(_cluster_role, _declared_verbs),
    (_GROUP, "RoleBinding"): _rules(
        _binding(("Role", "ClusterRole"), namespaced=True), _declared_names, _binding_update
    ),
    (_GROUP, "ClusterRoleBinding"): _rules(
        _binding(("ClusterRole",), namespaced=False), _declared_names, _binding_update
    ),
}
