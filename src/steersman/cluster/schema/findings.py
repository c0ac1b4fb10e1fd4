"""What decoding finds wrong, and where: places inside a value, and how Go and Kubernetes tell of them.

Places are linked paths, made for every step into a value and rendered only when there is something to
say. `decode` and `scalars` write findings; the JSON parser marks what they need to know with `Repeated`
and `Literal`.
"""

from __future__ import annotations

from typing import Any, Final

from steersman.cluster.schema import go_messages
from steersman.objects.fields import quote

__all__ = ["INTEGERS", "Findings", "Literal", "Place", "Repeated", "mismatch"]

#: (parent, name or index, Go name of the owning struct: None for an index, "" for a map's key).
#: Names of structs embedded in the owner follow it, after dots: "Volume.VolumeSource".
Place = tuple[Any, str | int, str | None] | None

#: Go's integer types and what they hold.
INTEGERS: Final = {"uint8": (0, 2**8 - 1), "int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}
#: As many strict errors as Kubernetes reports of one object.
_MOST_FINDINGS: Final = 100


class Repeated(dict[str, Any]):
    """A JSON object in which some keys occurred more than once."""

    #: In the order of their repetition, which is also where the object has them.
    repeated: tuple[str, ...] = ()
    #: All keys and their values as they were written.
    pairs: tuple[tuple[str, Any], ...] = ()


class Literal(float):
    """A JSON number that remembers how it was written."""

    text: str

    def __new__(cls, text: str) -> Literal:
        number = super().__new__(cls, text)
        number.text = text
        return number


class Findings:
    """What one run of decoding found wrong: the first type error, and unknown or repeated fields."""

    __slots__ = ("_notes", "error")

    def __init__(self) -> None:
        self.error = ""
        self._notes: list[tuple[str, Place, str]] = []

    def unknown(self, place: Place, key: str) -> None:
        self._notes.append(("unknown", place, key))

    def duplicate(self, place: Place, key: str) -> None:
        self._notes.append(("duplicate", place, key))

    def mismatch(self, value: Any, place: Place, expected: str) -> None:
        """Go notes the first of these and goes on; what it decodes instead never matters."""
        self.error = self.error or mismatch(value, place, expected)

    def strict_errors(self) -> list[str]:
        if not self._notes:
            return []
        texts = (f"{what} field {quote(_path(place, key))}" for what, place, key in self._notes)
        return list(dict.fromkeys(texts))[:_MOST_FINDINGS]


def _path(place: Place, key: str) -> str:
    steps: list[str] = []
    while place is not None:
        parent, step, _ = place
        steps.append(f"[{step}]" if isinstance(step, int) else step if parent is None else f".{step}")
        place = parent
    return "".join(reversed(steps)) + "." + key if steps else key


def mismatch(value: Any, place: Place, expected: str) -> str:
    """Go names the innermost struct, and the fields on the way without indexes and keys of maps."""
    fields: list[str] = []
    struct = ""
    while place is not None:
        parent, step, owner = place
        if owner:
            name, *embedded = owner.split(".")
            struct = struct or name
            fields += (str(step), *reversed(embedded))
        place = parent
    described = go_messages.json_type(value)
    if described == "number" and expected in INTEGERS:
        described += " " + (value.text if isinstance(value, Literal) else repr(value))
    into = f"struct field {struct}.{'.'.join(reversed(fields))}" if fields else "value"
    return f"json: cannot unmarshal {described} into Go {into} of type {expected}"
