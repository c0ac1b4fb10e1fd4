"""The Node authorizer: a node may read what its pods need, and write its own objects.

It applies to users `system:node:NAME` of the group system:nodes only. Resources that do not belong to single
nodes follow the rules of the role system:node. That a node writes only its own objects is completed by the
NodeRestriction admission plugin: here the object of a create is not known yet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from steersman.cluster.auth.authorization import NO_OPINION, Action, Decision
from steersman.cluster.auth.node_graph import NodeGraph
from steersman.cluster.auth.rules import RbacRule
from steersman.cluster.auth.users import NODE_PREFIX, NODES_GROUP, User

__all__ = ["NodeAuthorizer", "node_of"]

_ALLOWED = Decision(True)
_OWN_VERBS = ("get", "create", "update", "patch", "delete")
_LEASES = "kube-node-lease"
_SLICE_VERBS = "get, watch, list, create, update, patch, delete, deletecollection"


def node_of(user: User) -> str | None:
    """The node that a user is; None for everybody else."""
    if not user.name.startswith(NODE_PREFIX) or NODES_GROUP not in user.groups:
        return None
    return user.name[len(NODE_PREFIX) :]


def _no(reason: str) -> Decision:
    return Decision(False, reason)


class NodeAuthorizer:
    """Allows requests of nodes by the graph and the rules of system:node."""

    def __init__(self, graph: NodeGraph, rules: Sequence[RbacRule]) -> None:
        self._graph = graph
        self._rules = rules
        self._divided: Mapping[tuple[str, str], Callable[[str, Action], Decision]] = {
            ("", "secrets"): self._read,
            ("", "configmaps"): self._read,
            ("", "persistentvolumeclaims"): self._claim,
            ("", "persistentvolumes"): self._get,
            ("resource.k8s.io", "resourceclaims"): self._get,
            ("storage.k8s.io", "volumeattachments"): self._get,
            ("", "serviceaccounts"): self._account,
            ("coordination.k8s.io", "leases"): self._lease,
            ("storage.k8s.io", "csinodes"): self._csi_node,
            ("resource.k8s.io", "resourceslices"): self._slice,
            ("", "nodes"): self._node,
            ("", "pods"): self._pod,
            ("certificates.k8s.io", "podcertificaterequests"): self._certificate_request,
        }

    def allows(self, user: User, action: Action) -> bool:
        # Nearly everybody who asks is no node.
        return user.name.startswith(NODE_PREFIX) and self.decide(user, action).allowed

    def decide(self, user: User, action: Action) -> Decision:
        node = node_of(user)
        if node is None:
            return NO_OPINION
        if not node:
            return _no(f'unknown node for user "{user.name}"')
        if not action.path and (judge := self._divided.get((action.group, action.resource))) is not None:
            return judge(node, action)
        allowed = any(
            rule.matches_path(action.verb, action.path)
            if action.path
            else rule.matches_resource(action.verb, action.group, action.resource, action.subresource)
            for rule in self._rules
        )
        return _ALLOWED if allowed else NO_OPINION

    def _related(self, node: str, action: Action) -> Decision:
        if not action.name:
            return _no("No Object name found")
        if self._graph.related(node, action.resource, action.namespace, action.name):
            return _ALLOWED
        return _no(f"no relationship found between node '{node}' and this object")

    def _get(self, node: str, action: Action) -> Decision:
        if action.verb != "get":
            return _no("can only get individual resources of this type")
        if action.subresource:
            return _no("cannot get subresource")
        return self._related(node, action)

    def _read(self, node: str, action: Action) -> Decision:
        if action.verb not in ("get", "list", "watch"):
            return _no("can only read resources of this type")
        if action.subresource:
            return _no("cannot read subresource")
        if not action.namespace:
            return _no("can only read namespaced object of this type")
        return self._related(node, action)

    def _claim(self, node: str, action: Action) -> Decision:
        if action.subresource != "status":
            return self._get(node, action)
        if action.verb not in ("update", "patch"):
            return _no("can only get/update/patch this type")
        return self._related(node, action)

    def _account(self, node: str, action: Action) -> Decision:
        if action.verb == "get" and not action.subresource:
            return self._read(node, action)
        if action.verb != "create" or not action.name:
            return _no("can only create tokens for individual service accounts")
        if action.subresource != "token":
            return _no("can only create token subresource of serviceaccount")
        return self._related(node, action)

    def _lease(self, node: str, action: Action) -> Decision:
        if action.verb not in _OWN_VERBS:
            return _no("can only get, create, update, patch, or delete a node lease")
        if action.namespace != _LEASES:
            return _no(f'can only access leases in the "{_LEASES}" system namespace')
        if action.verb != "create" and action.name != node:
            return _no("can only access node lease with the same name as the requesting node")
        return _ALLOWED

    def _csi_node(self, node: str, action: Action) -> Decision:
        if action.subresource == "status":
            return _no("CSINode status access requires CSIVolumeHealth feature")
        if action.subresource:
            return _no("cannot authorize CSINode subresources")
        if action.verb not in _OWN_VERBS:
            return _no("can only get, create, update, patch, or delete a CSINode")
        if action.verb != "create" and action.name != node:
            return _no("can only access CSINode with the same name as the requesting node")
        return _ALLOWED

    def _slice(self, node: str, action: Action) -> Decision:
        if action.subresource:
            return _no("cannot authorize ResourceSlice subresources")
        match action.verb:
            case "create":
                return _ALLOWED
            case "get" | "update" | "patch" | "delete":
                return self._related(node, action)
            case "watch" | "list" | "deletecollection":
                if ("spec.nodeName", node) in action.fields:
                    return _ALLOWED
                return _no("can only list/watch/deletecollection resourceslices with nodeName field selector")
        return _no(f"only the following verbs are allowed for a ResourceSlice: {_SLICE_VERBS}")

    def _certificate_request(self, node: str, action: Action) -> Decision:
        if action.subresource:
            return _no("nodes may not access the status subresource of PodCertificateRequests")
        match action.verb:
            case "create":
                return _ALLOWED
            case "get":
                return self._related(node, action)
            case "list" | "watch":
                if ("spec.nodeName", node) in action.fields:
                    return _ALLOWED
                return _no("can only list/watch podcertificaterequests with nodeName field selector")
        return _no(f"nodes may not {action.verb} podcertificaterequests")

    def _node(self, node: str, action: Action) -> Decision:
        match action.subresource, action.verb:
            case "", "create" | "update" | "patch":
                return _ALLOWED
            case "", "get" | "list" | "watch":
                if action.name == node:
                    return _ALLOWED
                if not action.name:
                    return _no(f"node '{node}' cannot read all nodes, only its own Node object")
                return _no(f"node '{node}' cannot read '{action.name}', only its own Node object")
            case "status", "update" | "patch":
                return _ALLOWED
        return NO_OPINION

    def _pod(self, node: str, action: Action) -> Decision:
        match action.subresource, action.verb:
            case "", "get":
                return self._get(node, action)
            case "", "list" | "watch":
                if ("spec.nodeName", node) in action.fields:
                    return _ALLOWED
                if action.name:
                    return self._related(node, action)
                return _no("can only list/watch pods with spec.nodeName field selector")
            case ("", "create" | "delete") | ("status", "update" | "patch") | ("eviction", "create"):
                return _ALLOWED
        return NO_OPINION
