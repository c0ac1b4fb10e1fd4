"""Creating and deleting the pods of an owner, with events (PodControl).

Many pods are created in growing batches (slow start): an error that rejects the first pod would reject the
others too, so they are not tried.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

from steersman.client import AlreadyExists, ApiError, ClientError, NotFound
from steersman.cluster.controllers.templates import pod_from_template
from steersman.objects.kinds.types.core_v1 import PodTemplateSpec
from steersman.objects.resource_type import ResourceType
from steersman.objects.resources import PODS
from steersman.runtime import Key, Recorder, Writes

__all__ = ["BURST", "PodControl", "namespace_is_terminating", "slow_start", "together"]

T = TypeVar("T")

#: How many pods of one owner are made or deleted in one go.
BURST: Final = 500
#: Names that are taken are rare: there are 14 million.
_NAME_TRIES: Final = 8


def namespace_is_terminating(error: BaseException) -> bool:
    """Whether a create failed since nothing can be created in its namespace any more: trying again is of no
    use, and nobody wants to hear of it."""
    return isinstance(error, ApiError) and error.has_cause("NamespaceTerminating")


async def slow_start(items: Sequence[T], do: Callable[[T], Awaitable[None]]) -> ClientError | None:
    """Do it for 1, 2, 4, … items at a time until something fails; returns the first failure."""
    done, size = 0, 1
    while done < len(items):
        batch = items[done : done + size]
        if error := await together(map(do, batch)):
            return error
        done += len(batch)
        size *= 2
    return None


async def together(work: Iterable[Awaitable[None]]) -> ClientError | None:
    """Wait for all; returns the first failure."""
    failed: ClientError | None = None
    for result in await asyncio.gather(*work, return_exceptions=True):
        if isinstance(result, ClientError):
            failed = failed or result
        elif isinstance(result, BaseException):
            raise result
    return failed


class PodControl:
    """Creates and deletes the pods of owners of one kind."""

    def __init__(self, writes: Writes, recorder: Recorder, kind: ResourceType) -> None:
        self._writes = writes
        self._recorder = recorder
        self._kind = kind

    async def create_many(
        self, owner: Mapping[str, Any], templates: Sequence[PodTemplateSpec]
    ) -> ClientError | None:
        """A pod of each template, the first ones carefully; returns what went wrong."""
        return await slow_start(templates, lambda template: self.create(owner, template))

    async def create(
        self, owner: Mapping[str, Any], template: PodTemplateSpec, prefix: str | None = None
    ) -> None:
        """A pod of the template; `prefix` begins its name in the place of the owner's name."""
        for left in reversed(range(_NAME_TRIES)):
            pod = pod_from_template(template, owner, self._kind, prefix=prefix)
            try:
                await self._writes.create(PODS, pod)
            except AlreadyExists as error:
                if not left:
                    self._record_event(owner, "Warning", "FailedCreate", f"Error creating: {error}")
                    raise
            except ClientError as error:
                if not namespace_is_terminating(error):
                    self._record_event(owner, "Warning", "FailedCreate", f"Error creating: {error}")
                raise
            else:
                self._record_event(
                    owner, "Normal", "SuccessfulCreate", f"Created pod: {pod['metadata']['name']}"
                )
                return

    async def delete_many(
        self, owner: Mapping[str, Any], pods: Iterable[tuple[Key, str]]
    ) -> ClientError | None:
        """Delete pods, given by key and uid; returns what went wrong."""
        return await together([self.delete(owner, key, uid) for key, uid in pods])

    async def delete(self, owner: Mapping[str, Any], key: Key, uid: str) -> None:
        try:
            await self._writes.delete(PODS, key, uid, propagation=None)
        except NotFound:
            return
        except ClientError as error:
            self._record_event(owner, "Warning", "FailedDelete", f"Error deleting: {error}")
            raise
        self._record_event(owner, "Normal", "SuccessfulDelete", f"Deleted pod: {key.name}")

    def _record_event(self, owner: Mapping[str, Any], kind: Any, reason: str, note: str) -> None:
        self._recorder.event(owner, kind, reason, note)
