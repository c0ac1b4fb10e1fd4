"""Selection of objects for list and watch: by namespace, name, labels and fields.

A filter looks no deeper than it must: at the key for namespaces, at the metadata for labels and names,
at the whole object only for a resource's own fields.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from steersman.cluster.apiserver.resources.resource import Resource
from steersman.cluster.apiserver.resources.storage_encoding import envelope
from steersman.objects.errors import SelectorError
from steersman.objects.selectors import FieldSelector, LabelSelector
from steersman.objects.status import bad_request

__all__ = ["Filter"]

_METADATA_FIELDS = ("metadata.name", "metadata.namespace")


class Filter:
    """Immutable; equal filters are interchangeable, so watchers can share the work of one."""

    __slots__ = ("_fields", "_getters", "_labels", "everything", "fields", "labels", "name", "scope")

    def __init__(self, resource: Resource, namespace: str, labels: str, fields: str) -> None:
        self.scope = resource.scope(namespace)
        self.labels = labels
        self.fields = fields
        #: The only one that can be meant, where that is one object.
        self.name = ""
        self._labels: LabelSelector | None = None
        self._fields: FieldSelector | None = None
        self._getters: dict[str, Callable[[dict[str, Any]], str]] = {}
        try:
            if labels:
                self._labels = LabelSelector.parse(labels)
            if fields:
                self._fields = FieldSelector.parse(fields)
        except SelectorError as error:
            raise bad_request(str(error)) from None
        if self._fields is not None:
            self._read_fields(resource)
        self.everything = self._labels is None and self._fields is None

    def _read_fields(self, resource: Resource) -> None:
        assert self._fields is not None
        strategy = resource.strategy
        for name in (requirement.field for requirement in self._fields.requirements):
            getter = strategy.field_reader(name)
            if getter is None:
                raise bad_request(strategy.refuse_field(name))
            if name not in _METADATA_FIELDS:
                self._getters[name] = getter
        if self.scope != resource.prefix or not resource.namespaced:
            self.name = self._fields.exact_value("metadata.name") or ""

    def key(self) -> tuple[str, str, str]:
        return (self.scope, self.labels, self.fields)

    def matches(self, value: bytes) -> bool:
        """Whether an at-rest value of the scope is selected."""
        if self.everything:
            return True
        metadata = envelope(value)
        if self._labels is not None and not self._labels.matches(metadata.labels):
            return False
        if self._fields is None:
            return True
        shown = {"metadata.name": metadata.name, "metadata.namespace": metadata.namespace}
        if self._getters:
            obj = orjson.loads(value)
            shown.update((name, getter(obj)) for name, getter in self._getters.items())
        return self._fields.matches(shown)
