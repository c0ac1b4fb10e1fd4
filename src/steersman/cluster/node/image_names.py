"""Validation of image names (references), with the messages of container tools. Pure."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

__all__ = ["image_name_problem"]

_DEFAULT_DOMAIN: Final = "docker.io"
_MOST: Final = 255

_component = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_label = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_domain = rf"(?:{_label}(?:\.{_label})*|\[(?:[a-fA-F0-9:]+)\])(?::[0-9]+)?"
_reference = re.compile(
    rf"{_domain}/(?P<path>{_component}(?:/{_component})*)(?::\w[\w.-]{{0,127}})?"
    r"(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?",
    re.ASCII,
).fullmatch
_identifier = re.compile("[a-f0-9]{64}").fullmatch


@lru_cache(maxsize=1024)
def image_name_problem(image: str) -> str:
    """What is wrong with a name; empty if nothing is."""
    if _identifier(image):
        return f"invalid repository name ({image}), cannot specify 64-byte hexadecimal strings"
    domain, path = _split(image)
    repository = path.partition(":")[0]
    if repository != repository.lower():
        return f"invalid reference format: repository name ({repository}) must be lowercase"
    found = _reference(f"{domain}/{path}")
    if found is None:
        return "invalid reference format"
    if len(found["path"]) > _MOST:
        return f"repository name must not be more than {_MOST} characters"
    return ""


def _split(image: str) -> tuple[str, str]:
    """The registry and the rest, as short names mean them."""
    first, slash, rest = image.partition("/")
    if slash and (first == "localhost" or "." in first or ":" in first or first != first.lower()):
        return first, rest
    return _DEFAULT_DOMAIN, image if slash else f"library/{image}"
