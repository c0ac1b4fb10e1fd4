"""Strategies of policies: budgets, autoscalers, roles, priorities, leases, flow control.

Most differ only in whether they have a status and count generations.
"""

from __future__ import annotations

from typing import Final

from steersman.cluster.apiserver.resources.strategies import node_labels
from steersman.cluster.apiserver.resources.strategies.strategy import Strategy, spec_of, status_endpoint
from steersman.objects.kinds import Object

__all__ = ["POLICY"]

_PDB_LABEL: Final = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"

#: Where an object in autoscaling/v1 keeps what belongs to its spec and to its status.
_SPEC_NOTES: Final = tuple(f"autoscaling.alpha.kubernetes.io/{name}" for name in ("metrics", "behavior"))
_STATUS_NOTES: Final = tuple(
    f"autoscaling.alpha.kubernetes.io/{name}" for name in ("current-metrics", "conditions")
)


def _notes(autoscaler: Object) -> Object:
    return autoscaler["metadata"].get("annotations") or {}


def _autoscaler_generation(autoscaler: Object) -> object:
    notes = _notes(autoscaler)
    return autoscaler["spec"], [notes.get(key) for key in _SPEC_NOTES]


def _keep_notes(new: Object, old: Object | None, keys: tuple[str, ...]) -> None:
    """What a v1 client writes into annotations must not change what its endpoint protects."""
    before = {} if old is None else _notes(old)
    notes = {key: value for key, value in _notes(new).items() if key not in keys}
    notes |= {key: before[key] for key in keys if key in before}
    new["metadata"].pop("annotations", None)
    if notes:
        new["metadata"]["annotations"] = notes


def _strip_v1beta1_label(new: Object, old: Object | None = None) -> None:
    """The label that once stood for "selects nothing" is not for users to set."""
    selector = new["spec"].get("selector")
    if not selector or (old is not None and old["spec"].get("selector") == selector):
        return
    if selector == {"matchExpressions": [{"key": _PDB_LABEL, "operator": "Exists"}]}:
        return
    kept = [item for item in selector.get("matchExpressions") or () if item.get("key") != _PDB_LABEL]
    selector.pop("matchExpressions", None)
    if kept:
        selector["matchExpressions"] = kept


def _runtime_class_warnings(runtime_class: Object) -> list[str]:
    labels = (runtime_class.get("scheduling") or {}).get("nodeSelector") or ()
    return [
        f"scheduling.nodeSelector: {node_labels.DEPRECATED[label]}"
        for label in labels
        if label in node_labels.DEPRECATED
    ]


def _drop_election(new: Object, old: Object | None = None) -> None:
    """Coordinated leader election is off, so its fields are kept only where they already are."""
    for key in ("strategy", "preferredHolder"):
        if old is None or old["spec"].get(key) is None:
            new["spec"].pop(key, None)


def _refuse_system_class(name: str) -> str:
    from steersman.cluster.schema.validation.scheduling import SYSTEM_CLASSES

    return "this is a system priority class and cannot be deleted" if name in SYSTEM_CLASSES else ""


POLICY: Final = (
    Strategy(
        "policy",
        "poddisruptionbudgets",
        zero_status={"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0},
        generation=spec_of,
        on_create=_strip_v1beta1_label,
        on_update=_strip_v1beta1_label,
        reset_fields=("status",),
        subresources={"status": status_endpoint()},
        allow_unconditional_update=False,
    ),
    Strategy(
        "autoscaling",
        "horizontalpodautoscalers",
        zero_status={"desiredReplicas": 0, "currentMetrics": None},
        generation=_autoscaler_generation,
        on_create=lambda autoscaler: _keep_notes(autoscaler, None, _STATUS_NOTES),
        on_update=lambda new, old: _keep_notes(new, old, _STATUS_NOTES),
        reset_fields=("status",),
        subresources={"status": status_endpoint(also=lambda new, old: _keep_notes(new, old, _SPEC_NOTES))},
    ),
    *(
        Strategy("rbac.authorization.k8s.io", plural, allow_create_on_update=True)
        for plural in ("roles", "rolebindings", "clusterroles", "clusterrolebindings")
    ),
    # Its generation is 1 for ever: nothing that matters about it can change.
    Strategy(
        "scheduling.k8s.io",
        "priorityclasses",
        generation=lambda priority_class: None,
        deletion_refusal=_refuse_system_class,
    ),
    Strategy(
        "coordination.k8s.io",
        "leases",
        on_create=_drop_election,
        on_update=_drop_election,
        allow_create_on_update=True,
        allow_unconditional_update=False,
    ),
    Strategy(
        "node.k8s.io",
        "runtimeclasses",
        create_warnings=_runtime_class_warnings,
        update_warnings=lambda new, old: _runtime_class_warnings(new),
        allow_create_on_update=True,
        allow_unconditional_update=False,
    ),
    *(
        Strategy(
            "flowcontrol.apiserver.k8s.io",
            plural,
            zero_status={},
            generation=spec_of,
            reset_fields=("status",),
            subresources={"status": status_endpoint("metadata")},
        )
        for plural in ("flowschemas", "prioritylevelconfigurations")
    ),
)
