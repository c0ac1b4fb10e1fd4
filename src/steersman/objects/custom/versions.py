"""A resource of several versions: its definition, and objects from one version to another.

    webapps = Versions(WebAppV1, WebAppV2, storage="v2")

    @webapps.converts(WebAppV1, WebAppV2)
    def upgrade(old: WebAppV1) -> WebAppV2: ...

Functions need not exist for every pair: the shortest chain of them is taken, so that with one version as
the hub two functions for each other version are enough. Called by the conversion webhook; pure.

**Nothing is lost on a round trip** with `lossless=True`: what a version cannot hold is kept in an annotation
(`steersman.dev/converted-from`) while the object is in that version, and comes back with it. Changes that
were made in between are kept as well.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import orjson

from steersman.objects.custom.crd import crd
from steersman.objects.custom.errors import ConversionError, DefinitionError
from steersman.objects.custom.resource import CustomResource
from steersman.objects.errors import ObjectError
from steersman.objects.kinds import Object
from steersman.objects.patches import merge

__all__ = ["KEPT_ANNOTATION", "Versions"]

_Source = TypeVar("_Source", bound=CustomResource)
_Target = TypeVar("_Target", bound=CustomResource)
_Function = Callable[[Any], CustomResource]

KEPT_ANNOTATION: Final = "steersman.dev/converted-from"
_HEAD: Final = ("apiVersion", "kind", "metadata")


class Versions:
    """The classes of one kind, one for each version."""

    def __init__(
        self, *classes: type[CustomResource], storage: str | None = None, lossless: bool = False
    ) -> None:
        self.classes = classes
        self._storage = storage
        self._lossless = lossless
        self._by_version = {cls.resource_type.api_version: cls for cls in classes}
        self._functions: dict[str, dict[str, _Function]] = {name: {} for name in self._by_version}

    def crd(self, *, conversion_webhook: Mapping[str, Any] | None = None) -> Object:
        """The definition of all versions; see `crd.crd`."""
        return crd(*self.classes, storage=self._storage, conversion_webhook=conversion_webhook)

    def converts(
        self, source: type[_Source], target: type[_Target]
    ) -> Callable[[Callable[[_Source], _Target]], Callable[[_Source], _Target]]:
        """Registers a function from one version to another. Metadata is carried over for it; it may set
        labels and annotations."""
        for cls in (source, target):
            if cls not in self.classes:
                raise DefinitionError(f"{cls.__name__} is not one of these versions")

        def register(function: Callable[[_Source], _Target]) -> Callable[[_Source], _Target]:
            functions = self._functions[source.resource_type.api_version]
            functions[target.resource_type.api_version] = function
            return function

        return register

    def convert(self, obj: Mapping[str, Any], to_api_version: str) -> Object:
        """The object in another version; the given one is left alone. Raises ConversionError."""
        given = obj.get("apiVersion", "")
        for name in (given, to_api_version):
            if name not in self._by_version:
                raise ConversionError(f'"{name}" is none of the versions {", ".join(self._by_version)}')
        if given == to_api_version:
            return dict(obj)
        if not self._lossless:
            return self._converted(obj, to_api_version)
        return self._losslessly(obj, to_api_version)

    def _converted(self, obj: Mapping[str, Any], to_api_version: str) -> Object:
        for step in self._chain(obj["apiVersion"], to_api_version):
            obj = self._step(obj, step)
        return dict(obj)

    def _chain(self, start: str, end: str) -> list[str]:
        """The versions to go through, the last one included."""
        came_from, waiting = {start: ""}, deque([start])
        while waiting and end not in came_from:
            here = waiting.popleft()
            for there in self._functions[here]:
                if there not in came_from:
                    came_from[there] = here
                    waiting.append(there)
        if end not in came_from:
            raise ConversionError(f"no conversion leads from {start} to {end}")
        chain = [end]
        while came_from[chain[-1]] != start:
            chain.append(came_from[chain[-1]])
        return chain[::-1]

    def _step(self, obj: Mapping[str, Any], to_api_version: str) -> Object:
        source = self._by_version[obj["apiVersion"]]
        function = self._functions[obj["apiVersion"]][to_api_version]
        try:
            made = function(source.from_object(obj))
        except ObjectError as error:
            raise ConversionError(f"from {obj['apiVersion']} to {to_api_version}: {error}") from error
        except Exception as error:  # whatever the author's function raises
            raise ConversionError(
                f"from {obj['apiVersion']} to {to_api_version}: {type(error).__name__}: {error}"
            ) from error
        result = made.to_object()
        if result["apiVersion"] != to_api_version:
            raise ConversionError(f"the conversion to {to_api_version} made {result['apiVersion']}")
        result["metadata"] = _metadata(obj, made)
        return result

    def _losslessly(self, obj: Mapping[str, Any], to_api_version: str) -> Object:
        obj, text = _unpacked(obj)
        kept = self._kept(text) if text is not None else None
        result = self._converted(obj, to_api_version)
        if kept is not None and kept["apiVersion"] == to_api_version:
            # What the other version made of the kept object, seen from here: the difference to it is what
            # was changed in between.
            unchanged = self._converted(self._converted(kept, obj["apiVersion"]), to_api_version)
            changes = merge.create(_content(unchanged), _content(result))
            return {**_head(result), **merge.apply(_content(kept), changes)}
        origin = dict(obj) if kept is None else self._origin(kept, obj)
        back = self._converted(result, origin["apiVersion"])
        return result if _content(back) == _content(origin) else _packed(result, origin)

    def _kept(self, text: str) -> Object | None:
        """The object in an annotation; one that somebody spoilt counts as none."""
        try:
            kept: Object = orjson.loads(text)
            self._by_version[kept["apiVersion"]].from_object(kept)
        except (orjson.JSONDecodeError, ObjectError, LookupError, TypeError):
            return None
        return kept

    def _origin(self, kept: Object, obj: Object) -> Object:
        """The kept object brought up to date, when the way leads on to a third version."""
        return self._losslessly(_packed(obj, kept), kept["apiVersion"])


def _content(obj: Mapping[str, Any]) -> Object:
    return {key: value for key, value in obj.items() if key not in _HEAD}


def _head(obj: Mapping[str, Any]) -> Object:
    return {key: obj[key] for key in _HEAD if key in obj}


def _metadata(obj: Mapping[str, Any], made: CustomResource) -> Object:
    """The metadata of before; the function may have set labels and annotations, nothing else counts."""
    metadata = dict(obj.get("metadata") or {})
    for name in ("labels", "annotations"):
        if name in made.metadata.model_fields_set or getattr(made.metadata, name):
            metadata[name] = dict(getattr(made.metadata, name))
    return metadata


def _packed(obj: Mapping[str, Any], origin: Mapping[str, Any]) -> Object:
    """The object with the one it comes from in its annotation."""
    kept = orjson.dumps({"apiVersion": origin["apiVersion"], **_content(origin)}).decode()
    metadata = obj.get("metadata") or {}
    annotations = {**(metadata.get("annotations") or {}), KEPT_ANNOTATION: kept}
    return {**obj, "metadata": {**metadata, "annotations": annotations}}


def _unpacked(obj: Mapping[str, Any]) -> tuple[Object, str | None]:
    """The object without the annotation, and what was in it."""
    metadata = obj.get("metadata") or {}
    annotations = dict(metadata.get("annotations") or {})
    text = annotations.pop(KEPT_ANNOTATION, None)
    if text is None:
        return dict(obj), None
    plain = {key: value for key, value in metadata.items() if key != "annotations"}
    if annotations:
        plain["annotations"] = annotations
    return {**obj, "metadata": plain}, text
