"""Controllers that keep the lock themselves: a StatefulSet, the Service that names its pods, disks, TLS.

`manifests` makes everything else.
"""

from __future__ import annotations

from collections.abc import Sequence

from steersman.highlander.config import TenantConfig
from steersman.highlander.config.models import RaftSection
from steersman.highlander.errors import ConfigError
from steersman.objects.kinds import Object
from steersman.raft.config import DEFAULT_PORT

__all__ = ["PORT", "headless_service", "raft_of", "raft_rule", "stateful_set"]


#: By name, where others of the set are talked to.
PORT = "raft"
_GROUP = 65532
_DISK = "raft"
_TLS = "raft-tls"


def raft_of(name: str, tenants: Sequence[TenantConfig]) -> RaftSection | None:
    """How the controllers called `name` keep the lock; None if something else does. Raises ConfigError."""
    if not any(tenant.storage_type == "raft" for tenant in tenants):
        return None
    if len(tenants) > 1:
        raise ConfigError("storageType raft: controllers serve one tenant then; choose it with --tenant")
    raft = tenants[0].raft
    if not raft.service:
        raise ConfigError(
            "storageType raft: raft.service is needed, the name of the controllers' own Service"
        )
    if raft.service == name:
        raise ConfigError(f"raft.service: {name} is the Service of their API; it needs another name")
    return raft


def raft_rule(name: str) -> Object:
    """Nodes look up how many of them there are to be."""
    return {"apiGroups": ["apps"], "resources": ["statefulsets"], "verbs": ["get"], "resourceNames": [name]}


def headless_service(labels: dict[str, str]) -> Object:
    """Names of the pods, also of those that are not ready: they need the others to become it."""
    return {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": labels,
        "ports": [{"name": PORT, "port": DEFAULT_PORT, "targetPort": PORT}],
    }


def stateful_set(raft: RaftSection, name: str, deployment: Object) -> Object:
    """A Deployment's spec as a StatefulSet's."""
    spec: Object = {"serviceName": raft.service, "podManagementPolicy": "Parallel", **deployment}
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    container["ports"].append({"name": PORT, "containerPort": DEFAULT_PORT})
    container["env"] += [
        _field("POD_NAME", "metadata.name"),
        _field("HIGHLANDER_RAFT_NAMESPACE", "metadata.namespace"),
    ]
    if raft.tls:
        container["volumeMounts"].append({"name": _TLS, "mountPath": raft.tls, "readOnly": True})
        pod["volumes"].append({"name": _TLS, "secret": {"secretName": f"{name}-{_TLS}"}})
    if raft.storage:
        container["volumeMounts"].append({"name": _DISK, "mountPath": raft.storage})
        # The disk belongs to whoever the image's user is, by this group.
        pod["securityContext"]["fsGroup"] = _GROUP
        claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        spec["volumeClaimTemplates"] = [{"metadata": {"name": _DISK}, "spec": claim}]
    return spec


def _field(variable: str, path: str) -> Object:
    return {"name": variable, "valueFrom": {"fieldRef": {"fieldPath": path}}}
