"""What operators may do, derived from what they declare: no more than they need.

| declared               | needs                                                                          |
|------------------------|--------------------------------------------------------------------------------|
| the kind               | list and watch it; get it to resolve a conflict                                |
| a status               | patch its status                                                               |
| a finalizer            | patch the object                                                               |
| `timer(catch_up=True)` | patch the object: when it was last called is noted there                       |
| `owns`, dependents     | list, watch, create, patch, delete; update the owner's finalizers, which is    |
|                        | asked of whoever blocks an owner's deletion                                    |
| `watches`              | list, watch                                                                    |
| `uses`                 | what it says                                                                   |
| `Lease`                | get and update that Lease, create Leases, in its namespace                     |
| `RaftConfig`           | get its StatefulSet                                                            |
| sharding               | get, list, watch, create, update and delete Leases in its namespace            |
| a namespace selector   | list and watch namespaces                                                      |
| webhooks               | get and update its Secret and its registration, create them                    |
| versions               | get and patch the definition, update its status; list and update all objects   |
| anything               | create and patch events where its objects are                                  |

What a function does beyond that with `ctx.client`, or applies without owning it, cannot be seen from here:
that is what `uses` is for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from steersman.election import Lease, RaftConfig
from steersman.election.config import ElectionConfig
from steersman.objects.resource_type import ResourceType
from steersman.objects.resources import EVENTS, LEASES, NAMESPACES, SECRETS, STATEFUL_SETS
from steersman.operator.definition import Definition
from steersman.operator.operator import Chain
from steersman.operator.sharding import Sharding
from steersman.webhooks import default_names
from steersman.webhooks.registration import CRDS, MUTATING, VALIDATING

__all__ = ["EVERYWHERE", "Permission", "permissions"]

#: In the place of a namespace: all of them, and what is in none.
EVERYWHERE = ""
#: Where the events about objects without a namespace are.
_EVENTS_OF_CLUSTER_RESOURCES = "default"

_READ = ("list", "watch")
_OWN = ("list", "watch", "create", "patch", "delete")


class Permission(NamedTuple):
    """One verb on one resource."""

    namespace: str
    group: str
    #: In the plural, a subresource after a slash.
    resource: str
    verb: str
    #: Only the object of this name; empty for all.
    name: str
    why: str


def permissions(operators: Iterable[Chain[Any]], *, namespace: str, name: str) -> list[Permission]:
    """What these operators need when they run as `name` in `namespace`, each once, in a fixed order."""
    operators = list(operators)
    found: dict[tuple[str, ...], Permission] = {}
    for operator in operators:
        definition = operator.definition
        needs = _Needs(definition)
        for permission in (
            *needs.of_objects(),
            *_of_election(definition.election, namespace, name),
            *_of_sharding(definition.sharding, namespace),
        ):
            found.setdefault(permission[:5], permission)
    for permission in _of_webhooks([operator.definition for operator in operators], namespace):
        found.setdefault(permission[:5], permission)
    everywhere = {key[1:] for key in found if key[0] == EVERYWHERE}
    kept = [each for key, each in found.items() if key[0] == EVERYWHERE or key[1:] not in everywhere]
    return sorted(kept)


class _Needs:
    """Of one operator."""

    def __init__(self, definition: Definition[Any]) -> None:
        self._definition = definition

    def of_objects(self) -> Iterator[Permission]:
        definition = self._definition
        primary = definition.resource
        kind = primary.kind
        if definition.reconciles:
            yield from self._each(primary, _READ, f"objects of {kind} are followed")
            yield from self._each(primary, ("get",), "a conflict is resolved by reading again")
            yield from self._of_events(primary)
        if definition.reconciles and definition.has_status:
            yield from self._each(primary, ("patch",), f"the status of {kind} is written", "status")
        if definition.finalizer is not None:
            yield from self._each(primary, ("patch",), f"the finalizer {definition.finalizer} is kept")
        if any(timer.catch_up for timer in definition.timers):
            yield from self._each(primary, ("patch",), "when a timer was last called is noted")
        for owned in definition.owns:
            yield from self._each(owned, _OWN, f"{kind} owns {owned.kind}")
        if definition.owns:
            yield from self._each(primary, ("update",), "children block their owner's deletion", "finalizers")
        for watch in definition.watches:
            yield from self._each(watch.resource, _READ, f"{watch.resource.kind} concerns {kind}")
        if definition.namespace_selector:
            yield from self._each(NAMESPACES, _READ, "namespaces are chosen by their labels")
        for used, verbs in definition.uses.items():
            yield from self._each(used, verbs, f"{kind} uses {used.kind}")

    def _of_events(self, primary: ResourceType) -> Iterator[Permission]:
        places = self._places(EVENTS) if primary.namespaced else (_EVENTS_OF_CLUSTER_RESOURCES,)
        for place in places:
            for verb in ("create", "patch"):
                why = f"events about {primary.kind} are recorded and counted"
                yield Permission(place, EVENTS.group, EVENTS.plural, verb, "", why)

    def _each(
        self, resource: ResourceType, verbs: Iterable[str], why: str, subresource: str = ""
    ) -> Iterator[Permission]:
        what = f"{resource.plural}/{subresource}" if subresource else resource.plural
        for place in self._places(resource):
            for verb in verbs:
                yield Permission(place, resource.group, what, verb, "", why)

    def _places(self, resource: ResourceType) -> tuple[str, ...]:
        namespaces = self._definition.namespaces
        return tuple(namespaces) if resource.namespaced and namespaces else (EVERYWHERE,)


def _of_election(election: ElectionConfig | None, namespace: str, name: str) -> Iterator[Permission]:
    if isinstance(election, Lease):
        place, why = election.namespace or namespace, "one replica leads"
        yield from _kept(place, LEASES, election.name, why)
    elif isinstance(election, RaftConfig) and election.settings.service:
        stateful_set = election.settings.stateful_set or name
        why = "the Raft cluster is as large as its StatefulSet"
        yield Permission(namespace, STATEFUL_SETS.group, STATEFUL_SETS.plural, "get", stateful_set, why)


def _of_sharding(sharding: Sharding | None, namespace: str) -> Iterator[Permission]:
    """Every member has a Lease of its own, called after itself; the leases of the dead are removed."""
    if sharding is None:
        return
    for verb in ("get", "list", "watch", "create", "update", "delete"):
        why = "replicas share the objects"
        yield Permission(sharding.namespace or namespace, LEASES.group, LEASES.plural, verb, "", why)


def _of_webhooks(definitions: Sequence[Definition[Any]], namespace: str) -> Iterator[Permission]:
    """All webhooks of a process are registered under the name of the first operator that has any."""
    with_hooks = [each for each in definitions if each.hooks or each.versions is not None]
    if not with_hooks:
        return
    name = with_hooks[0].name
    secret, _ = default_names(name)
    yield from _kept(namespace, SECRETS, secret, "replicas share the certificates of webhooks")
    hooks = [hook for each in with_hooks for hook in each.hooks]
    for registration, mutating in ((VALIDATING, False), (MUTATING, True)):
        if any(hook.mutating is mutating for hook in hooks):
            yield from _kept(EVERYWHERE, registration, name, "webhooks are registered")
    for each in with_hooks:
        if each.versions is not None:
            definition = f"{each.resource.plural}.{each.resource.group}"
            why = "conversions are registered and stored versions migrated"
            for what, verb in (
                (CRDS.plural, "get"),
                (CRDS.plural, "patch"),
                (f"{CRDS.plural}/status", "patch"),
            ):
                yield Permission(EVERYWHERE, CRDS.group, what, verb, definition, why)
            for verb in ("list", "patch"):
                why = f"objects of {each.resource.kind} are rewritten in the version to be stored"
                yield Permission(EVERYWHERE, each.resource.group, each.resource.plural, verb, "", why)


def _kept(place: str, resource: ResourceType, name: str, why: str) -> Iterator[Permission]:
    """One object that is made if it is not there, and updated."""
    for verb in ("get", "update"):
        yield Permission(place, resource.group, resource.plural, verb, name, why)
    yield Permission(place, resource.group, resource.plural, "create", "", why)
