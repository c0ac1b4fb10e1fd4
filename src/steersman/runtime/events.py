"""Events about objects, as `kubectl describe` shows them. Recording never fails and never waits.

`Recorder.event` is called from reconciles; a manager runs `Recorder.run`, which sends in the background.
What an API server does not take is given up, and a full buffer drops what is new; `lost_events` says so.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections import OrderedDict
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from steersman.aio import Backoff, Clock, SystemClock
from steersman.client import (
    AlreadyExists,
    ApiError,
    Client,
    ClientError,
    Invalid,
    NotFound,
    ServerError,
    Unreachable,
)
from steersman.objects.names import is_dns1123_subdomain
from steersman.objects.resource_type import Typed
from steersman.runtime.event_forms import MODERN, EventForm, Reporter
from steersman.runtime.events_core import Occurrence, Reference, Series
from steersman.runtime.lost_events import LostEvents

__all__ = ["Recorder"]


_log = logging.getLogger(__name__)

_MOST_PENDING = 1000
_MOST_TRIES = 5
_RETRY = Backoff(1.0, 10.0)
#: What the API takes at most, in bytes.
_WORD_BYTES = 128


class Recorder:
    """Tells of what happened to objects, on behalf of one component."""

    def __init__(
        self,
        client: Client,
        component: str,
        instance: str,
        *,
        clock: Clock | None = None,
        form: EventForm = MODERN,
    ) -> None:
        """`component` is a qualified name (`example.com/webapp-operator`), `instance` this very process."""
        self._client = client
        self._reporter = Reporter(component, _cut(instance, _WORD_BYTES))
        self._clock = clock or SystemClock()
        self._form = form
        self._correlator = form.correlator()
        self._pending: OrderedDict[int, Series] = OrderedDict()
        self._work = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._numbers = itertools.count()
        self.lost = LostEvents(self._clock, component)

    def event(
        self,
        regarding: Mapping[str, Any] | Typed,
        type: Literal["Normal", "Warning"],  # noqa: A002 - Kubernetes' word
        reason: str,
        note: str,
        *,
        action: str = "Reconcile",
        related: Mapping[str, Any] | Typed | None = None,
    ) -> None:
        """Tell that something happened to `regarding`: an object, or a reference to one."""
        try:
            occurrence = Occurrence(
                _reference(regarding),
                type,
                _cut(reason, _WORD_BYTES),
                note,
                _cut(action, _WORD_BYTES),
                None if related is None else _reference(related),
            )
        except (KeyError, TypeError, AttributeError):
            _log.exception("the event %s has neither reason nor note", reason)
            return
        series = self._correlator.observe(occurrence, self._clock.monotonic())
        if series is not None:
            self._add(series)

    async def run(self) -> None:
        """Send until cancelled."""
        while True:
            while self._pending:
                _, series = self._pending.popitem(last=False)
                await self._send(series)
            self._idle.set()
            self._work.clear()
            await self._work.wait()

    async def flush(self) -> None:
        """Wait until nothing is left to send."""
        await self._idle.wait()

    def _add(self, series: Series) -> None:
        if id(series) not in self._pending and len(self._pending) >= _MOST_PENDING:
            self.lost.add("they come faster than they can be sent")
            return
        self._pending[id(series)] = series
        self._idle.clear()
        self._work.set()

    async def _send(self, series: Series) -> None:
        namespace = series.occurrence.regarding.namespace or "default"
        try:
            if series.name:
                again = self._form.again(series, self._now())
                await self._client.patch(self._form.resource, series.name, again, namespace)
            else:
                body = self._body(series, namespace)
                await self._client.create(body, kind=self._form.resource)
                series.name = body["metadata"]["name"]
        except (Unreachable, ServerError) as error:
            await self._retry(series, error)
        except ApiError as error:
            if series.name and isinstance(error, NotFound | Invalid):
                # Events live for an hour; one that cannot be continued is told anew.
                series.name = ""
                self._add(series)
                return
            if isinstance(error, AlreadyExists) and series.failures < _MOST_TRIES:
                # Somebody else told of the same object at the same moment.
                series.failures += 1
                self._add(series)
                return
            gone = isinstance(error, NotFound) or error.has_cause("NamespaceTerminating")
            self.lost.add(
                "their namespace ends" if gone else f"refused as {error.reason}", error, expected=gone
            )
        except ClientError as error:
            self.lost.add("they cannot be sent", error)
        except Exception:  # noqa: BLE001 - telling of things must not end what does them
            _log.exception("an event could not be sent")

    async def _retry(self, series: Series, error: ClientError) -> None:
        series.failures += 1
        if series.failures >= _MOST_TRIES:
            self.lost.add(f"after {_MOST_TRIES} tries", error)
            return
        self._add(series)
        await self._clock.sleep(_RETRY.wait_s(series.failures))

    def _body(self, series: Series, namespace: str) -> dict[str, Any]:
        return {
            "apiVersion": self._form.resource.api_version,
            "kind": self._form.resource.kind,
            "metadata": {"name": self._name(series.occurrence.regarding.name), "namespace": namespace},
            **self._form.body(series, self._reporter, self._now()),
        }

    def _name(self, regarding: str) -> str:
        stamp = f"{int(self._clock.wall() * 1e6):x}{next(self._numbers) & 0xFFF:03x}"
        name = f"{regarding[:230]}.{stamp}"
        # Some objects have names that no Event may have, such as the role system:node.
        return f"event.{stamp}" if is_dns1123_subdomain(name) else name

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.wall(), UTC)


def _reference(what: Mapping[str, Any] | Typed) -> Reference:
    obj = what if isinstance(what, Mapping) else what.to_object()
    metadata = obj.get("metadata", obj)
    return Reference(
        obj["apiVersion"],
        obj["kind"],
        metadata.get("namespace") or "",
        metadata["name"],
        metadata.get("uid") or "",
        obj.get("fieldPath") or "",
        metadata.get("resourceVersion") or "",
    )


def _cut(text: str, most_bytes: int) -> str:
    """At most so many bytes, without cutting a character in two."""
    encoded = text.encode()
    return text if len(encoded) <= most_bytes else encoded[: most_bytes - 3].decode(errors="ignore") + "…"
