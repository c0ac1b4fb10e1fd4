"""An informer without an API: a cache that a test fills by hand."""

from __future__ import annotations

import itertools
from collections.abc import Hashable
from typing import Any

import orjson

from steersman.objects.resource_type import ResourceType
from steersman.runtime.cache import Cache
from steersman.runtime.cached import Intake
from steersman.runtime.changes import Change, Handler
from steersman.runtime.keys import Key

WEBAPPS = ResourceType("example.com", "v1", "WebApp", "webapps")
DEPLOYMENTS = ResourceType("apps", "v1", "Deployment", "deployments")

_versions = itertools.count(1)


class Shelf:
    def __init__(self, resource: ResourceType = WEBAPPS) -> None:
        self.resource = resource
        self.cache = Cache(Intake(resource))

    def add_handler(self, handler: Handler, *, writer: Hashable = None) -> None:
        tell = self.cache.handlers.add(handler, writer)
        for cached in self.cache:
            tell(Change("added", cached.key, None, cached, initial=True))

    def remove_handler(self, handler: Handler) -> None:
        self.cache.handlers.remove(handler)

    def put(self, name: str, namespace: str = "ns", *, deleted: bool = False, **metadata: Any) -> Key:
        """An event of the watch."""
        obj = {
            "apiVersion": self.resource.api_version,
            "kind": self.resource.kind,
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": f"uid of {name}",
                "resourceVersion": str(next(_versions)),
                **metadata,
            },
        }
        cached = self.cache.read(orjson.dumps(obj))
        self.cache.receive(cached, deleted=deleted)
        return cached.key

    def resync(self) -> None:
        for cached in self.cache:
            self.cache.handlers.tell(Change("modified", cached.key, cached, cached, resync=True))
