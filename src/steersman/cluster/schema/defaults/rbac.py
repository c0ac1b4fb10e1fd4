"""Defaults of role bindings: whose API group a reference means when it names none."""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.defaults.filling import zero
from steersman.objects.kinds import Object

__all__ = ["default_role_binding"]

_GROUP: Final = "rbac.authorization.k8s.io"


def default_role_binding(binding: Object) -> None:
    zero(binding["roleRef"], "apiGroup", _GROUP)
    for subject in binding.get("subjects") or ():
        if subject.get("kind") in ("User", "Group"):
            zero(subject, "apiGroup", _GROUP)
