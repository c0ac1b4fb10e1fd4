"""Objects as tests give them: YAML text, files, dicts, builders and custom resources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from steersman.client import Client
from steersman.cluster.codec.yaml import parse
from steersman.objects.kinds import Object
from steersman.objects.resource_type import Typed
from steersman.testing.waiting import eventually

__all__ = ["Manifest", "apply_all", "read_manifests"]

Manifest = str | Path | Mapping[str, Any] | Typed

_MANAGER = "steersman-testing"
#: Between two documents, as kubectl reads it.
_BETWEEN = re.compile(r"^---(?:[ \t].*)?$", re.MULTILINE)
#: How long a new kind may take to be served.
_SERVED_S = 10.0


def read_manifests(manifests: Iterable[Manifest]) -> Iterator[Object]:
    """Their objects one by one, those of Lists and of several YAML documents too."""
    for manifest in manifests:
        match manifest:
            case str() | Path():
                text = manifest if isinstance(manifest, str) else manifest.read_text()
                documents = (parse(each.encode())[0] for each in _BETWEEN.split(text))
                yield from read_manifests(each for each in documents if each)
            case Mapping():
                if str(manifest.get("kind", "")).endswith("List") and "items" in manifest:
                    yield from read_manifests(manifest["items"])
                else:
                    yield dict(manifest)
            case _:
                yield manifest.to_object()


async def apply_all(client: Client, manifests: Iterable[Manifest]) -> list[Object]:
    """Server-side apply, in the order given; a new kind can be used by what follows it."""
    applied = []
    for obj in read_manifests(manifests):
        applied.append(await client.apply(obj, field_manager=_MANAGER))
        if obj.get("kind") == "CustomResourceDefinition":
            await _served(client, obj["spec"])
    return applied


async def _served(client: Client, definition: Mapping[str, Any]) -> None:
    kind = definition["names"]["kind"]
    for version in definition["versions"]:
        if version.get("served", True):
            known = partial(client.resource_type, f"{definition['group']}/{version['name']}", kind)
            await eventually(known, _SERVED_S, what=f"that {kind} is served")
