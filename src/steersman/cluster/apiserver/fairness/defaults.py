"""The flow schemas and priority levels that every cluster starts with. A table; nothing is stored here."""

from __future__ import annotations

from typing import Final, NamedTuple

from steersman.objects.kinds import Object

__all__ = [
    "AUTO_UPDATE",
    "CATCH_ALL",
    "EXEMPT",
    "LEVELS",
    "MANDATORY",
    "SCHEMAS",
    "level_object",
    "schema_object",
]


EXEMPT: Final = "exempt"
CATCH_ALL: Final = "catch-all"
#: Fixed, and in force even when they were deleted.
MANDATORY: Final = (EXEMPT, CATCH_ALL)
AUTO_UPDATE: Final = "apf.kubernetes.io/autoupdate-spec"


class _Level(NamedTuple):
    shares: int
    lendable_percent: int
    #: With hands of `hand_size` cards and 50 requests each; 0: no queues, refuse.
    queues: int
    hand_size: int = 6


#: What `exempt` has is of another kind, see level_object.
LEVELS: Final = {
    EXEMPT: _Level(0, 0, 0),
    "system": _Level(30, 33, 64),
    "node-high": _Level(40, 25, 64),
    "leader-election": _Level(10, 0, 16, hand_size=4),
    "workload-high": _Level(40, 50, 128),
    "workload-low": _Level(100, 90, 128),
    "global-default": _Level(20, 50, 128),
    CATCH_ALL: _Level(5, 0, 0),
}
_QUEUE_LENGTH: Final = 50


class _Schema(NamedTuple):
    level: str
    precedence: int
    #: "user", "namespace", or empty.
    by: str
    #: `group NAME`, `user NAME` or `accounts NAMESPACE`, separated by commas.
    subjects: str
    #: Empty: everything.
    rules: tuple[Object, ...] = ()
    paths: tuple[str, ...] = ()


_ALL: Final = ["*"]
_EVERYONE: Final = "group system:unauthenticated,group system:authenticated"
_NODES: Final = "group system:nodes"


def _rule(verbs: list[str], group: str, *resources: str, cluster: bool) -> Object:
    rule: Object = {"verbs": verbs, "apiGroups": [group], "resources": list(resources)}
    if cluster:
        rule["clusterScope"] = True
    return rule | {"namespaces": _ALL}


_LEASES: Final = ("coordination.k8s.io", "leases")
SCHEMAS: Final = {
    EXEMPT: _Schema(EXEMPT, 1, "", "group system:masters"),
    "probes": _Schema(EXEMPT, 2, "", _EVERYONE, paths=("/healthz", "/readyz", "/livez")),
    "system-leader-election": _Schema(
        "leader-election",
        100,
        "user",
        "user system:kube-controller-manager,user system:kube-scheduler,accounts kube-system",
        (_rule(["get", "create", "update"], *_LEASES, cluster=False),),
    ),
    "system-node-high": _Schema(
        "node-high",
        400,
        "user",
        _NODES,
        (_rule(_ALL, "", "nodes", "nodes/status", cluster=True), _rule(_ALL, *_LEASES, cluster=False)),
    ),
    "system-nodes": _Schema("system", 500, "user", _NODES),
    "kube-controller-manager": _Schema(
        "workload-high", 800, "namespace", "user system:kube-controller-manager"
    ),
    "kube-scheduler": _Schema("workload-high", 800, "namespace", "user system:kube-scheduler"),
    "kube-system-service-accounts": _Schema("workload-high", 900, "namespace", "accounts kube-system"),
    "service-accounts": _Schema("workload-low", 9000, "user", "group system:serviceaccounts"),
    "global-default": _Schema("global-default", 9900, "user", _EVERYONE),
    CATCH_ALL: _Schema(CATCH_ALL, 10000, "user", _EVERYONE),
}
_METHODS: Final = {"user": "ByUser", "namespace": "ByNamespace"}


def level_object(name: str) -> Object:
    """A default PriorityLevelConfiguration in normal form, without what the system adds."""
    level = LEVELS[name]
    limits: Object = {"nominalConcurrencyShares": level.shares}
    if name == EXEMPT:
        limits["lendablePercent"] = level.lendable_percent
        return _object(name, {"type": "Exempt", "exempt": limits})
    response: Object = {"type": "Reject"}
    if level.queues:
        queuing = {
            "queues": level.queues,
            "handSize": level.hand_size,
            "queueLengthLimit": _QUEUE_LENGTH,
        }
        response = {"type": "Queue", "queuing": queuing}
    limits |= {"limitResponse": response, "lendablePercent": level.lendable_percent}
    return _object(name, {"type": "Limited", "limited": limits})


def schema_object(name: str) -> Object:
    """A default FlowSchema in normal form, without what the system adds."""
    schema = SCHEMAS[name]
    spec: Object = {
        "priorityLevelConfiguration": {"name": schema.level},
        "matchingPrecedence": schema.precedence,
    }
    if schema.by:
        spec["distinguisherMethod"] = {"type": _METHODS[schema.by]}
    rule: Object = {"subjects": [_subject(text) for text in schema.subjects.split(",")]}
    if schema.rules:
        rule["resourceRules"] = list(schema.rules)
    elif not schema.paths:
        rule["resourceRules"] = [_rule(_ALL, "*", "*", cluster=True)]
        rule["nonResourceRules"] = [{"verbs": _ALL, "nonResourceURLs": _ALL}]
    if schema.paths:
        rule["nonResourceRules"] = [{"verbs": ["get"], "nonResourceURLs": list(schema.paths)}]
    spec["rules"] = [rule]
    return _object(name, spec)


def _subject(text: str) -> Object:
    kind, name = text.split(" ")
    if kind == "accounts":
        return {"kind": "ServiceAccount", "serviceAccount": {"namespace": name, "name": "*"}}
    return {"kind": kind.capitalize(), kind: {"name": name}}


def _object(name: str, spec: Object) -> Object:
    return {"metadata": {"name": name, "annotations": {AUTO_UPDATE: "true"}}, "spec": spec, "status": {}}
