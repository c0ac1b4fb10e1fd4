"""Installation of the default FlowSchemas and PriorityLevelConfigurations, at each start and after changes.

The mandatory ones are always restored. The suggested ones come back when deleted, and follow the defaults
unless their annotation apf.kubernetes.io/autoupdate-spec is "false"; without the annotation, unless their
spec was ever changed. Every flow schema's status says whether its priority level exists.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from steersman.aio import Scope
from steersman.cluster.apiserver.fairness.admission import GROUP
from steersman.cluster.apiserver.fairness.admission import LEVELS as LEVEL_PLURAL
from steersman.cluster.apiserver.fairness.admission import SCHEMAS as SCHEMA_PLURAL
from steersman.cluster.apiserver.fairness.defaults import (
    AUTO_UPDATE,
    LEVELS,
    MANDATORY,
    SCHEMAS,
    level_object,
    schema_object,
)
from steersman.cluster.apiserver.pipeline.call import Api
from steersman.cluster.apiserver.resources.resource import Resource
from steersman.cluster.apiserver.resources.server_managed_fields import applied, owned
from steersman.cluster.apiserver.resources.storage_encoding import encode
from steersman.cluster.apiserver.resources.system_fields import new_uid, timestamp
from steersman.cluster.store import Conflict, NotFound
from steersman.cluster.store_changes import follow
from steersman.objects.fields import quote
from steersman.objects.kinds import Object

__all__ = ["install_flow_control", "keep_flow_control"]


_TRUE = ("1", "t", "T", "true", "TRUE", "True")
_FALSE = ("0", "f", "F", "false", "FALSE", "False")
#: The managers of the default objects, and of the status of schemas.
_PRODUCER = "api-priority-and-fairness-config-producer-v1"
_CONSUMER = "api-priority-and-fairness-config-consumer-v1"
_CONDITION_FIELDS = (".", "f:type", "f:status", "f:lastTransitionTime", "f:reason", "f:message")
_PREFIXES = (f"/{GROUP}/{LEVEL_PLURAL}/", f"/{GROUP}/{SCHEMA_PLURAL}/")


async def install_flow_control(api: Api) -> None:
    """Make what is missing and put right what follows the defaults; then every schema's status is true."""
    async with Scope() as scope:
        for plural, names, make in (
            (LEVEL_PLURAL, LEVELS, level_object),
            (SCHEMA_PLURAL, SCHEMAS, schema_object),
        ):
            for name in names:
                scope.start(_install(api, plural, name, make(name)), name=f"default {plural}")
        await scope.join()
    for record in api.store.range(_PREFIXES[1]).records:
        await _write(api, record.key, lambda resource, obj: _with_status(api, resource, obj))


async def keep_flow_control(api: Api) -> None:
    """Install again after every change, until cancelled. What this writes itself changes nothing more."""
    changed = asyncio.Event()
    subscriptions = [follow(api.store, prefix, lambda key, value: changed.set()) for prefix in _PREFIXES]
    try:
        while True:
            await changed.wait()
            changed.clear()
            await install_flow_control(api)
    finally:
        for subscription in subscriptions:
            subscription.cancel()


async def _install(api: Api, plural: str, name: str, default: Object) -> None:
    key = f"/{GROUP}/{plural}/{name}"
    resource = _resource(api, plural)
    while api.store.get(key) is None:
        system = {"uid": new_uid(), "generation": 1, "creationTimestamp": timestamp(api.now())}
        made = owned(api, resource, None, default, manager=_PRODUCER)
        made = {**made, "metadata": made["metadata"] | system}
        if plural == SCHEMA_PLURAL:
            made = _with_status(api, resource, made)
        try:
            await api.store.put(key, encode(made), expected=0)
        except Conflict:
            continue
        return

    def revise(resource: Resource, obj: Object) -> Object:
        revised = _revised(obj, default)
        return obj if revised == obj else owned(api, resource, obj, revised, manager=_PRODUCER)

    await _write(api, key, revise)


def _resource(api: Api, plural: str) -> Resource:
    resource = api.catalog.stored(GROUP, plural)
    assert resource is not None
    return resource


async def _write(api: Api, key: str, revise: Callable[[Resource, Object], Object]) -> None:
    """Store what `revise` makes of an object, unless it is the same, or the object is gone."""
    resource = _resource(api, key.split("/")[2])
    while (record := api.store.get(key)) is not None:
        existing = resource.read(record.value)
        revised = revise(resource, existing)
        if revised == existing:
            return
        try:
            await api.store.put(key, encode(revised), expected=record.revision)
        except (Conflict, NotFound):
            continue
        return


def _revised(existing: Object, default: Object) -> Object:
    """What becomes of a default object that is there already."""
    metadata = existing["metadata"]
    wanted = (metadata.get("annotations") or {}).get(AUTO_UPDATE)
    follows = metadata["name"] in MANDATORY or wanted in _TRUE
    if wanted not in _TRUE and wanted not in _FALSE:
        follows = follows or metadata.get("generation") == 1
    revised = existing
    if wanted not in (_TRUE if follows else _FALSE):
        annotations = (metadata.get("annotations") or {}) | {AUTO_UPDATE: str(follows).lower()}
        revised = {**revised, "metadata": metadata | {"annotations": annotations}}
    if follows and not _same_spec(existing["spec"], default["spec"]):
        metadata = revised["metadata"] | {"generation": metadata.get("generation", 0) + 1}
        revised = {**revised, "metadata": metadata, "spec": default["spec"]}
    return revised


def _same_spec(existing: Object, default: Object) -> bool:
    """The share of the exempt level is the administrator's to tune."""
    if existing.get("type") == default.get("type") == "Exempt":
        return True
    return existing == default


def _with_status(api: Api, resource: Resource, schema: Object) -> Object:
    """A schema whose condition Dangling is true to whether its level exists."""
    level = schema["spec"]["priorityLevelConfiguration"]["name"]
    found = level in LEVELS or api.store.get(_PREFIXES[0] + level) is not None
    ending = "it exists" if found else "there is no such object"
    joint = "and" if found else "but"
    message = (
        f"This FlowSchema references the PriorityLevelConfiguration object named {quote(level)} "
        f"{joint} {ending}"
    )
    wanted = {
        "type": "Dangling",
        "status": "False" if found else "True",
        "reason": "Found" if found else "NotFound",
        "message": message,
    }
    conditions = (schema.get("status") or {}).get("conditions") or []
    others = [each for each in conditions if each.get("type") != "Dangling"]
    now: Object = next((each for each in conditions if each.get("type") == "Dangling"), {})
    if {key: now.get(key) for key in wanted} == wanted:
        return schema
    condition = {
        "type": wanted["type"],
        "status": wanted["status"],
        "lastTransitionTime": timestamp(api.now()),
        "reason": wanted["reason"],
        "message": message,
    }
    changed = {**schema, "status": {**(schema.get("status") or {}), "conditions": [*others, condition]}}
    condition_fields: Object = {name: {} for name in _CONDITION_FIELDS}
    fields = {"f:status": {"f:conditions": {'k:{"type":"Dangling"}': condition_fields}}}
    return applied(api, resource, changed, fields, manager=_CONSUMER, subresource="status")
