"""`AdmissionRequest`: a write that the API asks about, as validating and mutating functions see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Generic, Literal, TypeVar, cast

from steersman.client import Client
from steersman.objects.kinds import Object
from steersman.objects.resource_type import ResourceType
from steersman.webhooks.errors import WebhookError

__all__ = ["OPERATIONS", "AdmissionRequest", "Operation", "UserInfo"]

R = TypeVar("R")
Operation = Literal["CREATE", "UPDATE", "DELETE"]

OPERATIONS: Final[tuple[Operation, ...]] = ("CREATE", "UPDATE", "DELETE")


@dataclass(frozen=True, slots=True)
class UserInfo:
    """Who writes."""

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)


class AdmissionRequest(Generic[R]):
    """One write. `resource` is what it would leave (for a DELETE: what it would remove), `old` what is there.

    A mutating function changes `resource` in place or returns another; in a validating one changes are lost.
    """

    def __init__(self, kind: Any, review: Mapping[str, Any], client: Client) -> None:
        """`kind` is a class, or the ResourceType whose objects stay dicts; `review` the review's request."""
        self._kind = kind
        self._review = review
        #: For looking at other objects. What it reads is the API's, not a cache's.
        self.client = client
        self.uid: str = review["uid"]
        self.operation: Operation = review["operation"]
        #: Nothing will be stored, so nothing may be done outside of the object either.
        self.dry_run: bool = bool(review.get("dryRun"))
        self.subresource: str = review.get("subResource") or ""
        #: Empty while the API has yet to generate it.
        self.name: str = review.get("name") or ""
        self.namespace: str = review.get("namespace") or ""
        #: The options of the write: fieldManager, propagationPolicy, …
        self.options: Object = review.get("options") or {}

    @cached_property
    def user(self) -> UserInfo:
        info = self._review.get("userInfo") or {}
        return UserInfo(
            info.get("username") or "",
            info.get("uid") or "",
            tuple(info.get("groups") or ()),
            info.get("extra") or {},
        )

    @property
    def object(self) -> Object:
        """The object as it came, all of it."""
        return self._review.get("object") or self._review.get("oldObject") or {}

    @cached_property
    def resource(self) -> R:
        """The object as its class. Raises InvalidObjectError if it is none."""
        return self._made(self.object)

    @cached_property
    def old(self) -> R | None:
        """What the API has now; None for what is to be created."""
        old = self._review.get("oldObject")
        return None if old is None else self._made(old)

    def check(self) -> None:
        """Raises InvalidObjectError if the object is none of its class."""
        _ = self.resource

    def _made(self, obj: Object) -> R:
        if not obj:
            raise WebhookError(f"the API sent no object with this {self.operation}")
        made: Any = obj if isinstance(self._kind, ResourceType) else self._kind.from_object(obj)
        return cast(R, made)
