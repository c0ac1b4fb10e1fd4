"""Content negotiation: the format of a request body (Content-Type) and of the response (Accept).

The API server turns the two errors into 415 and 406. Header values repeat endlessly, so each is parsed once.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from steersman.cluster.codec.errors import NotAcceptable, UnsupportedMediaType
from steersman.cluster.schema.resources import GVK

__all__ = [
    "DISCOVERY",
    "JSON",
    "METADATA",
    "OFFERED",
    "PLAIN",
    "PROTOBUF",
    "RESOURCE",
    "STREAMED",
    "YAML",
    "Format",
    "Representation",
    "Transforms",
    "input_format",
    "is_routed",
    "negotiate",
    "parse_accept",
    "wants_pretty",
]

Format = Literal["json", "yaml", "protobuf"]
JSON: Final = "application/json"
YAML: Final = "application/yaml"
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"

_INPUT: Final[dict[str, Format]] = {JSON: "json", YAML: "yaml", PROTOBUF: "protobuf"}
_OUTPUT: Final = (JSON, YAML)
#: What kube-apiserver says it writes, and what it says beside where it streams.
OFFERED: Final = (JSON, YAML, PROTOBUF)
STREAMED: Final = (f"{JSON};stream=watch", f"{PROTOBUF};stream=watch")
_MEDIA_TYPES: Final = ", ".join(_INPUT)

#: What an endpoint may answer with, beside the object itself.
Transforms = frozenset[GVK]
#: Nothing else.
PLAIN: Final[Transforms] = frozenset()
#: Metadata alone, which everything has.
METADATA: Final[Transforms] = frozenset(
    GVK("meta.k8s.io", version, kind)
    for version in ("v1", "v1beta1")
    for kind in ("PartialObjectMetadata", "PartialObjectMetadataList")
)
#: And Tables.
RESOURCE: Final[Transforms] = METADATA | {
    GVK("meta.k8s.io", version, "Table") for version in ("v1", "v1beta1")
}
#: Aggregated discovery at /api and /apis.
DISCOVERY: Final[Transforms] = frozenset(
    GVK("apidiscovery.k8s.io", version, "APIGroupDiscoveryList") for version in ("v2", "v2beta1")
)


@dataclass(frozen=True, slots=True)
class Representation:
    """The format of a response, the kind to convert to (None: as it is), and whether to indent."""

    media_type: str = JSON
    convert: GVK | None = None
    pretty: bool = False

    @property
    def content_type(self) -> str:
        """The Content-Type of the answer, which for discovery names the conversion."""
        if self.convert in DISCOVERY and self.convert is not None:
            return f"{self.media_type};g={self.convert.group};v={self.convert.version};as={self.convert.kind}"
        return self.media_type


class _Clause(NamedTuple):
    """One media range of an Accept header, with its parameters."""

    type: str
    subtype: str
    quality: float
    parameters: dict[str, str]


@lru_cache(maxsize=256)
def input_format(content_type: str) -> Format:
    """The format of a body; none said means JSON. Raises UnsupportedMediaType."""
    media_type = content_type.partition(";")[0].strip().lower() or JSON
    found = _INPUT.get(media_type)
    if found is None or (";" in content_type and not content_type.strip().partition(";")[0]):
        raise UnsupportedMediaType(
            f"the body of the request was in an unknown format - accepted media types include: {_MEDIA_TYPES}"
        )
    return found


@lru_cache(maxsize=1024)
def is_routed(accept: str, *also: str, formats: Collection[str] = OFFERED) -> bool:
    """Whether kube-apiserver's router takes a request to an endpoint that writes `formats`, which most have
    in common, and `also`. It knows no `application/*`."""
    produced = (*formats, *also, "*/*")
    return not accept or any(each.partition(";")[0].strip() in produced for each in accept.split(","))


@lru_cache(maxsize=1024)
def negotiate(accept: str, transforms: Transforms = PLAIN) -> Representation:
    """The best representation for an Accept header. Raises NotAcceptable."""
    if not accept:
        return Representation()
    clauses = parse_accept(accept)
    for clause in clauses:
        for media_type in _OUTPUT:
            kind, _, subtype = media_type.partition("/")
            if clause.type not in (kind, "*") or clause.subtype not in (subtype, "*"):
                continue
            found = _represent(media_type, clause.parameters, transforms)
            if found is not None:
                return found
    raise NotAcceptable


def _represent(media_type: str, parameters: dict[str, str], transforms: Transforms) -> Representation | None:
    convert = None
    if parameters.keys() & {"as", "g", "v"}:
        convert = GVK(parameters.get("g", ""), parameters.get("v", ""), parameters.get("as", ""))
        if convert not in transforms:
            return None
    stream = parameters.get("stream", "")
    if stream and (stream != "watch" or media_type != JSON):
        return None
    return Representation(media_type, convert, parameters.get("pretty") == "1")


def parse_accept(header: str) -> list[_Clause]:
    """The clauses of an Accept header, most wanted first."""
    clauses = [_parse_clause(text) for text in header.split(",") if text.strip()]
    # Equally wanted: the more specific first, then as given.
    return sorted(clauses, key=lambda each: (-each.quality, each.type == "*", each.subtype == "*"))


def _parse_clause(text: str) -> _Clause:
    media_type, *rest = (part.strip() for part in text.split(";"))
    kind, _, subtype = media_type.lower().partition("/")
    if kind == "*" and not subtype:
        subtype = "*"
    parameters: dict[str, str] = {}
    quality = 1.0
    for part in rest:
        key, _, value = (each.strip() for each in part.partition("="))
        if key == "q":
            quality = _quality(value)
        elif key:
            parameters[key] = value.strip('"')
    return _Clause(kind, subtype, quality, parameters)


def _quality(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        return 1.0
    return number if 0 <= number <= 1 else 1.0


def wants_pretty(pretty: str | None, user_agent: str) -> bool:
    """Whether to indent for people: ?pretty says so, or the client is one that people look at."""
    if pretty:
        return pretty in ("1", "t", "T", "true", "TRUE", "True")
    return user_agent.startswith(("curl", "Wget", "Mozilla/5.0"))
