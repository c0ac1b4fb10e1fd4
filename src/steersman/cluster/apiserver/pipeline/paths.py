"""URL paths of resources: `/apis/apps/v1/namespaces/x/deployments/y/scale` → group, version, resource, name,
…

Pure: knows the grammar of the API's paths, not which resources exist.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

__all__ = ["CONNECT_SUBRESOURCES", "ResourcePath", "parse_path"]

#: Subresources that connect the client with a running pod, service or node (verb `connect` in metrics).
CONNECT_SUBRESOURCES = frozenset({"attach", "exec", "log", "portforward", "proxy"})


class ResourcePath(NamedTuple):
    """A path below a group version. `plural` is empty for the group version itself."""

    group: str
    version: str
    plural: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    #: What follows the subresource (proxy paths).
    rest: str = ""
    #: The deprecated `/watch/` prefix.
    watch: bool = False


# A cluster's clients ask for the same objects again and again.
@lru_cache(maxsize=2048)
def parse_path(path: str) -> ResourcePath | None:
    """None when the path is not below /api/VERSION or /apis/GROUP/VERSION."""
    parts = path.split("/")
    if parts[0] or len(parts) < 3:
        return None
    if parts[1] == "api":
        group, version, rest = "", parts[2], parts[3:]
    elif parts[1] == "apis" and len(parts) >= 4:
        group, version, rest = parts[2], parts[3], parts[4:]
    else:
        return None
    if not version:
        return None
    if rest and rest[-1] == "" and "proxy" not in rest:
        while rest and rest[-1] == "":
            rest.pop()
    watch = bool(rest) and rest[0] == "watch"
    if watch:
        rest = rest[1:]
    if not rest:
        return ResourcePath(group, version)
    namespace = ""
    if rest[0] == "namespaces" and len(rest) >= 3 and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource = [*rest, "", "", ""][:3]
    return ResourcePath(group, version, plural, namespace, name, subresource, "/".join(rest[3:]), watch)
