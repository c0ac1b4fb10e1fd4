"""Which pull policy an image reference asks for.

Follows the reference grammar of container registries only as far as the tag: a reference that does not
parse has no tag, and validation is left to say what is wrong with it.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["default_pull_policy"]

_COMPONENT: Final = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN: Final = rf"(?:{_COMPONENT}(?:\.{_COMPONENT})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_SEGMENT: Final = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_DIGEST: Final = r"sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128}"
_REFERENCE: Final = re.compile(
    rf"(?:(?P<domain>{_DOMAIN})/)?(?P<path>{_SEGMENT}(?:/{_SEGMENT})*)(?::(?P<tag>\w[\w.-]{{0,127}}))?(?:@(?P<digest>{_DIGEST}))?",
    re.ASCII,
)
_IDENTIFIER: Final = re.compile(r"[a-f0-9]{64}")
_HOST: Final = re.compile(r"[.:A-Z]")
_PATH_WORD: Final = re.compile(_SEGMENT)
_LONGEST_PATH: Final = 255


def _tag(image: str) -> str:
    """The tag, "latest" where neither tag nor digest is given, "" for a bare digest or a broken reference."""
    found = _REFERENCE.fullmatch(image)
    if found is None or _IDENTIFIER.fullmatch(image):
        return ""
    domain, path = found["domain"] or "", found["path"]
    if not domain:
        path = f"library/{path}"
    elif not _HOST.search(domain) and domain != "localhost":
        # A first word without dot or port, in lower case, is part of the path, and must look like it.
        if not _PATH_WORD.fullmatch(domain):
            return ""
        path = f"{domain}/{path}"
    if len(path) > _LONGEST_PATH:
        return ""
    return found["tag"] or ("" if found["digest"] else "latest")


def default_pull_policy(image: str) -> str:
    return "Always" if _tag(image) == "latest" else "IfNotPresent"
