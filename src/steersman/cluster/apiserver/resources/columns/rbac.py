"""The tables of role bindings. Roles themselves show name and creation time, like anything else."""

from __future__ import annotations

from steersman.cluster.apiserver.resources.columns.definitions import (
    AGE,
    NAME,
    Cells,
    ColumnDefinition,
    Table,
    age,
    at,
    name_of,
    wide,
)
from steersman.objects.kinds import Object

__all__ = ["TABLES"]


def _binding(obj: Object, now: float) -> Cells:
    subjects = at(obj, "subjects", default=())
    names = {
        kind: ", ".join(subject.get("name", "") for subject in subjects if subject.get("kind") == kind)
        for kind in ("User", "Group")
    }
    accounts = ", ".join(
        f"{subject.get('namespace', '')}/{subject.get('name', '')}"
        for subject in subjects
        if subject.get("kind") == "ServiceAccount"
    )
    role = f"{at(obj, 'roleRef', 'kind', default='')}/{at(obj, 'roleRef', 'name', default='')}"
    return [name_of(obj), role, age(obj, now), names["User"], names["Group"], accounts]


_BINDING = Table(
    (
        NAME,
        ColumnDefinition("Role", "The role it grants."),
        AGE,
        wide("Users", "The users it grants the role to."),
        wide("Groups", "The groups it grants the role to."),
        wide("ServiceAccounts", "The service accounts it grants the role to."),
    ),
    _binding,
)

TABLES = {
    ("rbac.authorization.k8s.io", "clusterrolebindings"): _BINDING,
    ("rbac.authorization.k8s.io", "rolebindings"): _BINDING,
}
