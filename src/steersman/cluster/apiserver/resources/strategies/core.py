"""Strategies of the core group except pods, services and volumes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from uuid import uuid4

from steersman.cluster.apiserver.resources.strategies.key_pairs import key_pair_problem
from steersman.cluster.apiserver.resources.strategies.strategy import (
    Fields,
    Strategy,
    Subresource,
    Termination,
    keep,
    status_endpoint,
)
from steersman.objects.addresses import cidr_warnings, ip_warnings
from steersman.objects.fields import Path
from steersman.objects.kinds import Object
from steersman.objects.quantities import Quantity

__all__ = ["CORE"]

_NAMESPACE_FINALIZER: Final = "kubernetes"
_NAME_LABEL: Final = "kubernetes.io/metadata.name"
_MOUNTABLE: Final = "kubernetes.io/enforce-mountable-secrets"
_QUOTA_RESOURCES: Final = ("cpu", "memory", "ephemeral-storage")


# --- Namespaces


def _prepare_namespace(namespace: Object) -> None:
    finalizers = namespace["spec"].get("finalizers") or []
    if _NAMESPACE_FINALIZER not in finalizers:
        namespace["spec"]["finalizers"] = [*finalizers, _NAMESPACE_FINALIZER]
    _label_with_name(namespace)


def _mark_namespace(namespace: Object, _: str) -> None:
    namespace["status"]["phase"] = "Terminating"


def _label_with_name(namespace: Object) -> None:
    # Again after defaulting: a generated name was not known then.
    if name := namespace["metadata"].get("name"):
        namespace["metadata"].setdefault("labels", {})[_NAME_LABEL] = name


def _update_namespace(new: Object, old: Object) -> None:
    keep(new["spec"], old["spec"], "finalizers")
    _label_with_name(new)


# --- Nodes


#: Of features that are gone or off: kept only where they already are.
_NODE_FIELDS: Final = ("configSource", "podPreemptionPolicy")


def _prepare_node(node: Object) -> None:
    for key in _NODE_FIELDS:
        node["spec"].pop(key, None)
    node["status"].pop("config", None)


def _update_node(new: Object, old: Object) -> None:
    for key in _NODE_FIELDS:
        if old["spec"].get(key) is None:
            new["spec"].pop(key, None)


def _update_node_status(new: Object, old: Object) -> None:
    if old["status"].get("config") is None:
        new["status"].pop("config", None)


def _node_warnings(node: Object) -> list[str]:
    spec = node["spec"]
    warnings = []
    if spec.get("configSource") is not None:
        warnings.append("spec.configSource: the feature is removed")
    if spec.get("externalID"):
        warnings.append("spec.externalID: this field is deprecated, and is unused by Kubernetes")
    for index, cidr in enumerate(spec.get("podCIDRs") or ()):
        warnings += cidr_warnings(Path("spec").child("podCIDRs").index(index), cidr)
    return warnings


# --- Service accounts, secrets, quotas, limits


def _clean_secret_references(account: Object) -> None:
    """References to secrets name them and nothing else."""
    if account.get("secrets"):
        account["secrets"] = [{"name": s["name"]} if s.get("name") else {} for s in account["secrets"]]


def _service_account_warnings(account: Object, old: Object | None = None) -> list[str]:
    if old is not None and _MOUNTABLE in (old["metadata"].get("annotations") or ()):
        return []
    if _MOUNTABLE not in (account["metadata"].get("annotations") or ()):
        return []
    return [
        f"metadata.annotations[{_MOUNTABLE}]: deprecated in v1.32+; "
        "prefer separate namespaces to isolate access to mounted secrets"
    ]


def _secret_warnings(secret: Object) -> list[str]:
    if secret.get("type") != "kubernetes.io/tls":
        return []
    data = secret.get("data") or {}
    problem = key_pair_problem(data.get("tls.crt", ""), data.get("tls.key", ""))
    return [problem] if problem else []


def _update_secret(new: Object, old: Object) -> None:
    # A replaced secret without a type keeps its type, which nothing can change.
    if not new.get("type"):
        keep(new, old, "type")


def _quota_warnings(quota: Object) -> list[str]:
    hard = quota["spec"].get("hard") or {}
    warnings = []
    for name in _QUOTA_RESOURCES:
        request, limit = f"requests.{name}", f"limits.{name}"
        if request not in hard and name in ("cpu", "memory"):
            request = name
        if request in hard and limit in hard and Quantity.parse(hard[request]) > Quantity.parse(hard[limit]):
            warnings.append(
                f"ResourceQuota {request} ({hard[request]}) should be less than {limit} ({hard[limit]})"
            )
    return warnings


def _name_limit_range(limit_range: Object) -> None:
    if not limit_range["metadata"].get("name"):
        limit_range["metadata"]["name"] = str(uuid4())


# --- Endpoints and events


def _endpoints_warnings(endpoints: Object) -> list[str]:
    labels = endpoints["metadata"].get("labels") or {}
    if labels.get("endpoints.kubernetes.io/managed-by") == "endpoint-controller":
        return []
    return [
        warning
        for index, subset in enumerate(endpoints.get("subsets") or ())
        for kind in ("addresses", "notReadyAddresses")
        for position, address in enumerate(subset.get(kind) or ())
        for warning in ip_warnings(
            Path("subsets").index(index).child(kind).index(position).child("ip"), address.get("ip", "")
        )
    ]


def _event_source(event: Object) -> str:
    return str((event.get("source") or {}).get("component") or event.get("reportingComponent", ""))


def _of_involved(key: str) -> Callable[[Object], str]:
    return lambda event: event["involvedObject"].get(key, "")


_INVOLVED: Final = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_EVENT_FIELDS: Final[Fields] = {
    "reason": lambda event: event.get("reason", ""),
    "type": lambda event: event.get("type", ""),
}
_CORE_EVENT_FIELDS: Final[Fields] = {
    **_EVENT_FIELDS,
    **{f"involvedObject.{key}": _of_involved(key) for key in _INVOLVED},
    "reportingComponent": lambda event: event.get("reportingComponent", ""),
    "source": _event_source,
}
#: The events.k8s.io names, over the same stored form.
_NEW_EVENT_FIELDS: Final[Fields] = {
    **_EVENT_FIELDS,
    **{f"regarding.{key}": _of_involved(key) for key in _INVOLVED},
    "reportingController": _CORE_EVENT_FIELDS["reportingComponent"],
}


CORE: Final = (
    Strategy(
        "",
        "namespaces",
        returns_deleted=True,
        zero_status={"phase": "Active"},
        on_create=_prepare_namespace,
        on_update=_update_namespace,
        reset_fields=("status",),
        subresources={
            "status": status_endpoint(),
            "finalize": Subresource(lambda new, old: keep(new, old, "status"), ("status",)),
        },
        termination=Termination(
            _mark_namespace, is_kept=lambda namespace: bool(namespace["spec"].get("finalizers"))
        ),
        fields={"status.phase": lambda namespace: namespace["status"].get("phase", "")},
        selects_namespace=False,
    ),
    Strategy(
        "",
        "nodes",
        # Kubelets register with a status, so a new node keeps it.
        on_create=_prepare_node,
        on_update=_update_node,
        create_warnings=_node_warnings,
        update_warnings=lambda new, old: _node_warnings(new),
        reset_fields=("status",),
        subresources={"status": status_endpoint(also=_update_node_status)},
        fields={"spec.unschedulable": lambda node: "true" if node["spec"].get("unschedulable") else "false"},
        selects_namespace=False,
    ),
    Strategy("", "configmaps"),
    Strategy(
        "",
        "secrets",
        on_update=_update_secret,
        create_warnings=_secret_warnings,
        update_warnings=lambda new, old: _secret_warnings(new),
        fields={"type": lambda secret: secret.get("type", "")},
    ),
    Strategy(
        "",
        "serviceaccounts",
        returns_deleted=True,
        on_create=_clean_secret_references,
        on_update=lambda new, old: _clean_secret_references(new),
        create_warnings=_service_account_warnings,
        update_warnings=_service_account_warnings,
    ),
    Strategy(
        "",
        "resourcequotas",
        returns_deleted=True,
        zero_status={},
        create_warnings=_quota_warnings,
        reset_fields=("status",),
        subresources={"status": status_endpoint()},
    ),
    Strategy("", "limitranges", on_create=_name_limit_range, allow_create_on_update=True),
    Strategy(
        "",
        "endpoints",
        create_warnings=_endpoints_warnings,
        update_warnings=lambda new, old: _endpoints_warnings(new),
        allow_create_on_update=True,
    ),
    *(
        Strategy(
            group,
            "events",
            allow_create_on_update=True,
            fields=fields,
            default_propagation=None,
            is_cached=False,
        )
        for group, fields in (("", _CORE_EVENT_FIELDS), ("events.k8s.io", _NEW_EVENT_FIELDS))
    ),
)
