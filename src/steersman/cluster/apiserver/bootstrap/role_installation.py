"""Installation of the default RBAC roles and bindings, at each start.

What users added to a default role stays. What is missing is put back, so a newer server brings newer rules.
An object annotated rbac.authorization.kubernetes.io/autoupdate=false is left alone.
"""

from __future__ import annotations

from steersman.aio import Scope
from steersman.cluster.apiserver.pipeline.call import Api
from steersman.cluster.apiserver.resources.resource import Resource
from steersman.cluster.apiserver.resources.server_managed_fields import owned
from steersman.cluster.apiserver.resources.storage_encoding import encode
from steersman.cluster.apiserver.resources.system_fields import new_uid, timestamp
from steersman.cluster.auth.default_roles import AUTO_UPDATE, DefaultObject, default_objects
from steersman.cluster.auth.rbac import GROUP
from steersman.cluster.auth.rules import rules_of, uncovered
from steersman.cluster.store import Conflict, NotFound, Record
from steersman.objects.kinds import Object

__all__ = ["complete", "install_default_roles"]


async def install_default_roles(api: Api) -> None:
    """Create what is missing, complete what is there; all at once, so that a few commits carry it."""
    async with Scope() as scope:
        writes = [scope.start(_install(api, default), name="default role") for default in default_objects()]
        for write in writes:
            await write


async def _install(api: Api, default: DefaultObject) -> None:
    resource = api.catalog.find(GROUP, "v1", default.plural)
    assert resource is not None
    key = resource.key(default.namespace, default.name)
    while True:
        record = api.store.get(key)
        try:
            if record is None:
                await api.store.put(key, encode(_fresh(api, resource, default.obj)), expected=0)
            else:
                await _reconcile(api, resource, record, default)
        except (Conflict, NotFound):
            continue
        return


def _fresh(api: Api, resource: Resource, obj: Object) -> Object:
    obj = owned(api, resource, None, obj)
    system = {"uid": new_uid(), "creationTimestamp": timestamp(api.now())}
    return {**obj, "metadata": obj["metadata"] | system}


async def _reconcile(api: Api, resource: Resource, record: Record, default: DefaultObject) -> None:
    existing, expected = resource.read(record.value), default.obj
    if (existing["metadata"].get("annotations") or {}).get(AUTO_UPDATE) == "false":
        return
    if "roleRef" in expected and existing.get("roleRef") != expected["roleRef"]:
        # What a binding refers to cannot be changed: it is another binding then.
        await api.store.delete(record.key, expected=record.revision)
        await api.store.put(record.key, encode(_fresh(api, resource, expected)), expected=0)
        return
    completed = complete(existing, expected)
    if completed != existing:
        completed = owned(api, resource, existing, completed)
        await api.store.put(record.key, encode(completed), expected=record.revision)


def complete(existing: Object, expected: Object) -> Object:
    """An existing role or binding with everything a default one has."""
    metadata = dict(existing["metadata"])
    for key in ("annotations", "labels"):
        metadata[key] = expected["metadata"][key] | (metadata.get(key) or {})
    completed = {**existing, "metadata": metadata}
    if "roleRef" in expected:
        held = list(existing.get("subjects") or ())
        missing = [subject for subject in expected.get("subjects") or () if subject not in held]
        return {**completed, "subjects": held + missing} if missing else completed
    lacking = uncovered(rules_of(existing), rules_of(expected))
    if lacking:
        completed["rules"] = [*(existing.get("rules") or ()), *(rule.to_object() for rule in lacking)]
    return _complete_aggregation(completed, expected)


def _complete_aggregation(role: Object, expected: Object) -> Object:
    if "aggregationRule" not in expected:
        return {key: value for key, value in role.items() if key != "aggregationRule"}
    held = list((role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ())
    wanted = expected["aggregationRule"]["clusterRoleSelectors"]
    missing = [selector for selector in wanted if selector not in held]
    return {**role, "aggregationRule": {"clusterRoleSelectors": held + missing}} if missing else role
