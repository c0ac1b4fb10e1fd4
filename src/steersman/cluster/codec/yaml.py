"""YAML encoding and decoding as in Kubernetes: the JSON subset, with YAML 1.1's plain scalars.

Scalars are resolved here rather than by PyYAML, whose ideas of timestamps and base-60 numbers differ
from the ones of Go's parser. Only the first document of a stream counts.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final

import orjson
import yaml

from steersman.cluster.codec.errors import Malformed

__all__ = ["dump", "parse"]

_WORDS: Final[dict[str, Any]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
}
_INTEGER: Final = re.compile(r"[-+]?(?:0b[01_]+|0o[0-7_]+|0x[0-9a-fA-F_]+|0[0-7_]*|[1-9][0-9_]*)")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_NUMBERS: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
#: The tag given here to scalars that have none and are not quoted.
_PLAIN: Final = "!plain"
_RESOLVED: Final = frozenset(
    {_PLAIN, *(f"tag:yaml.org,2002:{name}" for name in ("int", "float", "bool", "null"))}
)
#: Where long lines are folded.
_WIDTH: Final = 80
_ALIAS: Final = re.compile(r"\*([0-9A-Za-z_-]+)")
_TIME: Final = re.compile(
    r"\d{4}-\d\d?-\d\d?([Tt ]\d\d?:\d\d?:\d\d?(\.\d+)?( ?[+-]\d\d?:\d\d|Z)?)?", re.ASCII
)
_BASE_60: Final = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
#: Values reached through aliases before a document counts as an attack.
_MOST_ALIASED: Final = 100_000
#: Nesting and number of values (about 1 s to read) a document may have.
_DEEPEST: Final = 1_000
_MOST_NODES: Final = 100_000
_INT64: Final = (-(2**63), 2**64 - 1)

_BaseLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BaseDumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Loader(_BaseLoader):  # type: ignore[misc]
    """Leaves plain scalars unresolved, and limits the size of a document.

    The C parser recurses with the document: 50,000 opening brackets would overrun its stack and end the
    process, and a node costs ten times what a value of the same JSON does.
    """

    def __init__(self, stream: bytes) -> None:
        super().__init__(stream)
        self._depth = 0
        self._nodes = 0

    def descend_resolver(self, current_node: Any, current_index: Any) -> None:
        self._depth += 1
        self._nodes += 1
        if self._depth > _DEEPEST:
            raise Malformed("yaml: exceeded max depth")
        if self._nodes > _MOST_NODES:
            raise Malformed(f"yaml: document contains more than {_MOST_NODES} values; send JSON")

    def ascend_resolver(self) -> None:
        self._depth -= 1

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> Any:
        if kind is yaml.ScalarNode and implicit[0]:
            return _PLAIN
        return super().resolve(kind, value, implicit)


class _PlainDumper(_BaseDumper):  # type: ignore[misc]
    """Writes shared values out each time (API clients expect no aliases), and quotes every string that Go's
    parser would take for another type.
    """

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: Any, text: str) -> Any:
    style = "|" if "\n" in text else None if _stays_text(text) else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_PlainDumper.add_representer(str, _represent_text)


def parse(body: bytes) -> tuple[Any, list[str]]:
    """The JSON value of the first document, and what strict reading says about repeated keys.
    Raises Malformed."""
    try:
        loader = _Loader(body)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise Malformed(f"yaml: {error}") from None
    try:
        node = loader.get_node() if loader.check_node() else None
        converter = _Converter()
        value = converter.convert(node) if node is not None else None
    except yaml.composer.ComposerError as error:
        raise Malformed(_unknown_anchor(body, error) or _describe(error)) from None
    except yaml.MarkedYAMLError as error:
        raise Malformed(_describe(error)) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise Malformed(f"yaml: {error}") from None
    except RecursionError:
        raise Malformed("yaml: exceeded max depth") from None
    finally:
        loader.dispose()
    if not converter.repeated:
        return value, []
    return value, ["yaml: unmarshal errors:\n" + "\n".join(converter.repeated)]


def dump(value: Any) -> bytes:
    """A JSON value as a YAML document, keys sorted."""
    text: str = yaml.dump(
        value, Dumper=_PlainDumper, default_flow_style=False, allow_unicode=True, width=_WIDTH
    )
    return text.encode()


def _describe(error: yaml.MarkedYAMLError) -> str:
    """As Go's parser tells it: lines count from 0, which is none, but for what it finds while scanning."""
    line = 0
    if error.problem_mark is not None and error.problem_mark.line:
        line = error.problem_mark.line + isinstance(error, yaml.scanner.ScannerError)
    elif error.context_mark is not None:
        line = error.context_mark.line
    where = f"line {line}: " if line else ""
    return f"yaml: {where}{error.problem or error.context}"


class _Converter:
    """Converts nodes to JSON values; limits the expansion of aliases, and records duplicate keys."""

    def __init__(self) -> None:
        self.repeated: list[str] = []
        self._seen: set[int] = set()
        self._active: set[int] = set()
        self._aliased = 0

    def convert(self, node: yaml.Node) -> Any:
        if isinstance(node, yaml.ScalarNode):
            return _scalar(node)
        marker = id(node)
        if marker in self._active:
            raise Malformed("yaml: anchor contains itself")
        if marker in self._seen:
            self._aliased += len(node.value) + 1
            if self._aliased > _MOST_ALIASED:
                raise Malformed("yaml: document contains excessive aliasing")
        self._seen.add(marker)
        self._active.add(marker)
        try:
            if isinstance(node, yaml.SequenceNode):
                return [self.convert(child) for child in node.value]
            return self._mapping(node)
        finally:
            self._active.discard(marker)

    def _mapping(self, node: yaml.Node) -> dict[str, Any]:
        value: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key_node, child in node.value:
            if _is_merge(key_node):
                merged = {**self._merge(child), **merged}
                continue
            key = _key(key_node)
            if key in value:
                line = child.start_mark.line + 1
                self.repeated.append(f"  line {line}: key {orjson.dumps(key).decode()} already set in map")
            value[key] = self.convert(child)
        # Sorted, as the JSON is that Kubernetes makes of it.
        return dict(sorted({**merged, **value}.items()))

    def _merge(self, node: yaml.Node) -> dict[str, Any]:
        sources = node.value if isinstance(node, yaml.SequenceNode) else [node]
        merged: dict[str, Any] = {}
        for source in reversed(sources):
            found = self.convert(source)
            if not isinstance(found, dict):
                raise Malformed("yaml: map merge requires map or sequence of maps as the value")
            merged.update(found)
        return merged


def _is_merge(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.value == "<<" and node.tag == _PLAIN


def _key(node: yaml.Node) -> str:
    """JSON's keys are strings: numbers and booleans become their text."""
    if not isinstance(node, yaml.ScalarNode):
        raise Malformed("yaml: invalid map key: must be a string, a number or a boolean")
    key = _scalar(node)
    if isinstance(key, str):
        return key
    return orjson.dumps(key).decode()


def _scalar(node: yaml.ScalarNode) -> Any:
    return _resolve(node.value) if node.tag in _RESOLVED else node.value


def _resolve(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if not (text[0].isdigit() or text[0] in "-+."):
        return text
    digits = text.replace("_", "")
    if _INTEGER.fullmatch(text):
        number = _integer(digits)
        if number is not None:
            return number
    if _NOT_NUMBERS.fullmatch(text):
        raise Malformed(
            "json: unsupported value: " + {"-": "-Inf", "n": "NaN"}.get(text.lower().strip(".")[0], "+Inf")
        )
    if _FLOAT.fullmatch(digits) and digits[0] != "_":
        number_f = float(digits)
        return number_f if math.isfinite(number_f) else text
    return text


def _stays_text(text: str) -> bool:
    try:
        text_only = isinstance(_resolve(text), str) and text != "<<"
        return text_only and not _TIME.fullmatch(text) and not _BASE_60.fullmatch(text)
    except Malformed:
        return False


def _integer(digits: str) -> int | None:
    sign = -1 if digits[0] == "-" else 1
    bare = digits.lstrip("+-")
    base = {"0b": 2, "0o": 8, "0x": 16}.get(bare[:2], 8 if len(bare) > 1 and bare[0] == "0" else 10)
    if len(bare) > 66:
        return None
    try:
        number = (
            sign * int(bare, base) if base in (8, 10) and bare[:2] != "0o" else sign * int(bare[2:], base)
        )
    except ValueError:
        return None
    least, most = _INT64
    return number if least <= number <= most else None


def _unknown_anchor(body: bytes, error: yaml.MarkedYAMLError) -> str:
    """What Go says of an alias without an anchor; empty for other errors."""
    mark = error.problem_mark
    alias = mark and _ALIAS.match(body.decode("utf-8", "replace"), mark.index)
    return f"yaml: unknown anchor '{alias[1]}' referenced" if alias else ""
