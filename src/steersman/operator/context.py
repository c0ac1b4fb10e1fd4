"""What a reconcile function is given: the object, and everything it may do about it.

A `Context` belongs to one reconcile of one object. Reads come from caches that are never older than the
operator's own last write; writes are made only when they change something.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Generic, TypeVar, overload

from pydantic import BaseModel

from steersman.aio import Clock
from steersman.client import Client
from steersman.objects.kinds import Object
from steersman.objects.labels import annotations_of, labels_of
from steersman.objects.lifetime import is_deleting
from steersman.objects.resource_type import ResourceType, Typed
from steersman.objects.times import format_time
from steersman.operator.action import Action
from steersman.operator.children import Children
from steersman.operator.errors import OperatorError
from steersman.operator.kinds import Kind, made_from, resource_of
from steersman.operator.status import NewCondition, StatusWriter, with_conditions
from steersman.runtime import Recorder, Request, Writes

__all__ = ["Context", "Tools"]

R = TypeVar("R", bound=Typed)
T = TypeVar("T", bound=Typed)
V = TypeVar("V")
# Named since `Context.list` hides the type in the class.
Several = list[V]


@dataclass(frozen=True, slots=True)
class Tools:
    """What the contexts of one operator share."""

    client: Client
    clock: Clock
    writes: Writes
    children: Children
    status: StatusWriter
    recorder: Recorder
    #: The fencing term of the present leadership.
    term: Callable[[], int]


class Context(Generic[R]):
    """`ctx.resource` is the object as its class; see the methods for what can be done with it."""

    def __init__(self, kind: type[R], obj: Object, request: Request, tools: Tools) -> None:
        self._kind = kind
        self._object = obj
        self._resource: R | None = None
        self._request = request
        self._tools = tools
        #: Live objects of the operator's dependents, by the name of the function that makes them.
        self.dependents: dict[str, Any] = {}

    # the object

    @property
    def resource(self) -> R:
        """The object. Its status is what this reconcile has set, once it has."""
        if self._resource is None:
            self._resource = self._kind.from_object(self._object)
        return self._resource

    @property
    def object(self) -> Object:
        """The object as the API has it. Not to be changed."""
        return self._object

    @property
    def name(self) -> str:
        name: str = self._object["metadata"]["name"]
        return name

    @property
    def namespace(self) -> str:
        """Empty when the resource is cluster-wide."""
        namespace: str = self._object["metadata"].get("namespace", "")
        return namespace

    @property
    def uid(self) -> str:
        uid: str = self._object["metadata"]["uid"]
        return uid

    @property
    def generation(self) -> int | None:
        generation: int | None = self._object["metadata"].get("generation")
        return generation

    @property
    def labels(self) -> Mapping[str, str]:
        return labels_of(self._object)

    @property
    def annotations(self) -> Mapping[str, str]:
        return annotations_of(self._object)

    @property
    def deleting(self) -> bool:
        return is_deleting(self._object)

    @property
    def owner_reference(self) -> Object:
        """What makes another object this one's child: deleted with it, and holding it until then."""
        resource = self._kind.resource_type
        return {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "name": self.name,
            "uid": self.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }

    # the reconcile

    @property
    def client(self) -> Client:
        return self._tools.client

    @property
    def clock(self) -> Clock:
        """Time as this operator sees it; tests replace it."""
        return self._tools.clock

    @property
    def log(self) -> logging.Logger:
        """Lines written here carry the object and the reconcile's id."""
        return _log

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the object is looked at now."""
        return self._request.reasons

    @property
    def attempt(self) -> int:
        """1, and more after failures in a row."""
        return self._request.attempt

    @property
    def term(self) -> int:
        """The leadership's fencing term; 0 without leader election."""
        return self._tools.term()

    # others

    @overload
    async def apply(self, obj: T, *, owned: bool = True) -> T: ...

    @overload
    async def apply(self, obj: Mapping[str, Any], *, owned: bool = True) -> Object: ...

    async def apply(self, obj: Typed | Mapping[str, Any], *, owned: bool = True) -> Any:
        """Have an object be as given (server-side apply), as this one's child unless `owned` is false.

        Without a namespace it goes to this object's. The live object is returned; when it already is as
        wanted nothing is sent.
        """
        made_as: type[Typed] | None = None
        if isinstance(obj, Mapping):
            config = dict(obj)
            resource = await self.client.resource_type(config["apiVersion"], config["kind"])
        else:
            config, resource, made_as = obj.to_object(), obj.resource_type, type(obj)
        metadata = config["metadata"] = dict(config.get("metadata") or {})
        if "name" not in metadata:
            raise OperatorError(f"a {resource.kind} to be applied needs a name")
        if resource.namespaced:
            metadata.setdefault("namespace", self.namespace or self.client.namespace)
        else:
            metadata.pop("namespace", None)
        if owned:
            self._check_ownable(resource, metadata)
            owners = [owner for owner in metadata.get("ownerReferences", ()) if owner["uid"] != self.uid]
            metadata["ownerReferences"] = [*owners, self.owner_reference]
        live = await self._tools.children.apply(resource, config)
        return live if made_as is None else made_as.from_object(live)

    async def delete(self, kind: Kind | Typed, name: str = "", namespace: str | None = None) -> None:
        """Have an object deleted: `ctx.delete(Deployment, "old")`, or the object itself. It may be gone."""
        if not isinstance(kind, (ResourceType, type)):
            metadata = kind.to_object()["metadata"]
            kind, name = type(kind), metadata["name"]
            namespace = namespace or metadata.get("namespace")
        resource = resource_of(kind)
        await self._tools.children.delete(resource, name, self._namespace_for(resource, namespace))

    @overload
    async def get(self, kind: type[T], name: str, namespace: str | None = None) -> T | None: ...

    @overload
    async def get(self, kind: ResourceType, name: str, namespace: str | None = None) -> Object | None: ...

    async def get(self, kind: Kind, name: str, namespace: str | None = None) -> Any:
        """An object of this one's namespace, or another; None if there is none."""
        resource = resource_of(kind)
        found = await self._tools.children.get(resource, name, self._namespace_for(resource, namespace))
        return None if found is None else made_from(kind, found)

    @overload
    async def list(
        self, kind: type[T], selector: str | Mapping[str, str] = "", *, namespace: str | None = None
    ) -> Several[T]: ...

    @overload
    async def list(
        self, kind: ResourceType, selector: str | Mapping[str, str] = "", *, namespace: str | None = None
    ) -> Several[Object]: ...

    async def list(
        self, kind: Kind, selector: str | Mapping[str, str] = "", *, namespace: str | None = None
    ) -> Several[Any]:
        """Objects of this one's namespace (`namespace="*"`: of all) whose labels match."""
        resource = resource_of(kind)
        where = None if namespace == "*" else self._namespace_for(resource, namespace) or None
        if not isinstance(selector, str):
            selector = ",".join(f"{key}={value}" for key, value in selector.items())
        found = await self._tools.children.list(resource, where, selector)
        return [made_from(kind, obj) for obj in found]

    @overload
    async def children(self, kind: type[T]) -> Several[T]: ...

    @overload
    async def children(self, kind: ResourceType) -> Several[Object]: ...

    async def children(self, kind: Kind) -> Several[Any]:
        """The objects of a kind that this one owns."""
        resource = resource_of(kind)
        found = self._tools.children.owned_by(resource, self.uid)
        if found is None:
            where = self._namespace_for(resource, None) or None
            listed = await self._tools.children.list(resource, where, "")
            found = [obj for obj in listed if self._owns(obj)]
        return [made_from(kind, obj) for obj in found]

    # status and events

    async def set_status(self, status: BaseModel | Mapping[str, Any], *conditions: NewCondition) -> None:
        """Have the status be as given, in one write if it differs. Conditions it does not mention are kept.

        `observedGeneration` is filled in where the status has such a field and leaves it open.
        """
        given = _status_object(status)
        if (
            isinstance(status, BaseModel)
            and given.get("observedGeneration") is None
            and _observes(type(status))
        ):
            given["observedGeneration"] = self.generation
        mentioned = [_condition(each) for each in given.pop("conditions", None) or ()]

        def change(current: Object) -> Object:
            kept = {"conditions": current["conditions"]} if "conditions" in current else {}
            return self._with_conditions({**given, **kept}, (*mentioned, *conditions))

        await self._write_status(change)

    async def set_condition(
        self,
        type: str,  # noqa: A002 - Kubernetes' word
        status: bool | str,
        reason: str,
        message: str = "",
    ) -> None:
        """Have one condition be as given; its transition time moves only when its status does."""
        text = status if isinstance(status, str) else str(bool(status))
        condition = NewCondition(type, text, reason, message)
        await self._write_status(lambda current: self._with_conditions(current, (condition,)))

    async def event(self, reason: str, message: str) -> None:
        """Tell people that something happened. Like events are counted, not repeated."""
        self._tools.recorder.event(self._object, "Normal", reason, message)

    async def warning(self, reason: str, message: str) -> None:
        """Tell people that something needs their attention."""
        self._tools.recorder.event(self._object, "Warning", reason, message)

    # endings

    def requeue_after(self, after: float | timedelta) -> Action:
        return Action.requeue(after)

    def done(self) -> Action:
        return Action.done()

    # inside

    def _namespace_for(self, resource: ResourceType, namespace: str | None) -> str:
        if not resource.namespaced:
            return ""
        return namespace or self.namespace or self.client.namespace

    def _check_ownable(self, resource: ResourceType, metadata: Mapping[str, Any]) -> None:
        """An owner must be visible from where its child is, or the garbage collector deletes the child."""
        if not self.namespace or metadata.get("namespace") == self.namespace:
            return
        where = f"namespace {metadata['namespace']}" if resource.namespaced else "the cluster"
        raise OperatorError(
            f"{self._kind.resource_type.kind} {self.namespace}/{self.name} cannot own {resource.kind} "
            f"{metadata['name']} in {where}: apply it with owned=False and delete it in on_delete"
        )

    def _owns(self, obj: Mapping[str, Any]) -> bool:
        return any(owner["uid"] == self.uid for owner in obj["metadata"].get("ownerReferences") or ())

    def _with_conditions(self, status: Object, conditions: tuple[NewCondition, ...]) -> Object:
        if not conditions:
            return status
        now = datetime.fromtimestamp(self._tools.clock.wall(), UTC)
        return with_conditions(status, conditions, generation=self.generation, now=format_time(now))

    async def _write_status(self, change: Callable[[Object], Object]) -> None:
        self._object = await self._tools.status.write(self._object, change)
        self._resource = None


_log = logging.getLogger("steersman.operator")


def _status_object(status: BaseModel | Mapping[str, Any]) -> Object:
    if isinstance(status, BaseModel):
        return status.model_dump(mode="json", by_alias=True, exclude_none=True)
    return dict(status)


@cache
def _observes(kind: type[BaseModel]) -> bool:
    fields = kind.model_fields
    return any("observedGeneration" in (name, field.alias) for name, field in fields.items())


def _condition(given: Mapping[str, Any]) -> NewCondition:
    return NewCondition(given["type"], given["status"], given.get("reason", ""), given.get("message", ""))
