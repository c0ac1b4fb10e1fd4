"""Whose an object is: the labels and annotations that everything made here carries.

    app, managed-by, is-leader, controller-id, cluster-name     as the public project has them
    tenant, highlander.steersman.dev/{kind,workload}            which workload it is part of
    steersman.dev/term                                          the epoch it was written in (annotation)

What lacks `managed-by`, the tenant or the workload is somebody else's and never touched.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from steersman.highlander.state import WorkloadKind
from steersman.objects.labels import annotations_of
from steersman.operator.terms import TERM

__all__ = [
    "HASH",
    "MANAGED",
    "MANAGER",
    "Stamp",
    "WorkloadKey",
    "belongs_to",
    "epoch_of",
    "identity_labels",
    "key_of",
]


#: The field manager, and the value of `managed-by`.
MANAGER: Final = "highlander"
#: Selects everything made here.
MANAGED: Final = f"managed-by={MANAGER}"
KIND: Final = "highlander.steersman.dev/kind"
WORKLOAD: Final = "highlander.steersman.dev/workload"
#: On a process' pod: what it was made of, but for who made it and when.
HASH: Final = "highlander.steersman.dev/spec-hash"

_unfit = re.compile(r"[^A-Za-z0-9_.-]+").sub
_LABEL_LENGTH = 63


class WorkloadKey(NamedTuple):
    """Which workload of a tenant."""

    kind: WorkloadKind
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Stamp:
    """Who writes, and in which epoch."""

    tenant: str
    controller_id: str
    cluster_name: str
    epoch: int

    @property
    def labels(self) -> dict[str, str]:
        return {
            "is-leader": "true",
            "controller-id": label_value(self.controller_id),
            "cluster-name": label_value(self.cluster_name),
        }

    @property
    def annotations(self) -> dict[str, str]:
        return {TERM: str(self.epoch)}


def label_value(text: str) -> str:
    """The nearest thing to `text` that a label can hold."""
    return _unfit("-", text)[:_LABEL_LENGTH].strip("-_.")


def identity_labels(tenant: str, key: WorkloadKey) -> dict[str, str]:
    """Which workload something is part of; the same in every epoch, so fit for selectors."""
    return {
        "app": key.name,
        "managed-by": MANAGER,
        "tenant": label_value(tenant),
        KIND: str(key.kind),
        WORKLOAD: key.name,
    }


def key_of(namespace: str, labels: Mapping[str, str]) -> tuple[str, WorkloadKey] | None:
    """The tenant and the workload that labels speak of; None if they are not ours."""
    kind, name, tenant = labels.get(KIND), labels.get(WORKLOAD), labels.get("tenant")
    if labels.get("managed-by") != MANAGER or not name or tenant is None:
        return None
    try:
        return tenant, WorkloadKey(WorkloadKind(kind or ""), namespace, name)
    except ValueError:
        return None


def belongs_to(obj: Mapping[str, Any], tenant: str, key: WorkloadKey) -> bool:
    """Whether an object is part of this workload."""
    metadata = obj["metadata"]
    found = key_of(metadata.get("namespace") or "", metadata.get("labels") or {})
    return found == (label_value(tenant), key)


def epoch_of(obj: Mapping[str, Any]) -> int:
    """The epoch that an object was written in; 0 if it says none."""
    text = annotations_of(obj).get(TERM, "")
    return int(text) if text.isascii() and text.isdigit() else 0
