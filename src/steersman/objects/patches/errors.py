"""Why a patch was refused. The tree:

    ObjectError
    └── PatchError             .code: the HTTP status the API server answers with
        ├── BadPatch           400  it is not a patch of its kind
        ├── ApplyConflict      409  others own fields that applying would change: .conflicts
        ├── PatchTooLarge      413  more operations or copied bytes than allowed
        ├── PatchNotApplicable 422  it is a patch, but not for this object (a failed test, a missing path)
        ├── PatchFailed        500  a strategic merge went wrong half-way; Kubernetes calls this internal
        │   └── Unconvertible       an object has not the form of a version that somebody owns fields in
        └── InvalidConfiguration  500  what is applied does not have the form of its type; likewise

The messages are those of kube-apiserver. It hides the message of a 422 from its clients ("the server
rejected our request due to an error in our request"); that wording is the API server's business.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import orjson

from steersman.objects.errors import ObjectError
from steersman.objects.fields import quote

__all__ = [
    "ApplyConflict",
    "BadPatch",
    "Conflict",
    "InvalidConfiguration",
    "PatchError",
    "PatchFailed",
    "PatchNotApplicable",
    "PatchTooLarge",
    "Unconvertible",
]


class PatchError(ObjectError):
    """A patch that was not applied. The object is as it was."""

    code: ClassVar[int]


class BadPatch(PatchError):
    code = 400


class PatchTooLarge(PatchError):
    code = 413


class PatchNotApplicable(PatchError):
    code = 422


class PatchFailed(PatchError):
    code = 500


class Unconvertible(PatchFailed):
    """What is done with the object is put before the reason, from the inside out."""

    def during(self, *steps: str) -> Unconvertible:
        return Unconvertible(": ".join([*steps, str(self)]))


class InvalidConfiguration(PatchError):
    code = 500


class Conflict(NamedTuple):
    """One field that somebody else owns and that applying would change."""

    manager: str
    operation: str
    api_version: str
    subresource: str
    #: As messages name it: .spec.containers[name="c"].image
    field: str

    @property
    def owner(self) -> str:
        """The manager as messages name it."""
        text = quote(self.manager)
        if self.subresource:
            text += f" with subresource {quote(self.subresource)}"
        return text if self.operation == "Apply" else f"{text} using {self.api_version}"

    @property
    def _order(self) -> bytes:
        """What Kubernetes sorts managers by: their identity as JSON."""
        identity = {"manager": self.manager, "operation": self.operation}
        if self.operation != "Apply":
            identity["apiVersion"] = self.api_version
        if self.subresource:
            identity["subresource"] = self.subresource
        return orjson.dumps(identity)


class ApplyConflict(PatchError):
    """Others own fields that applying would change. Nothing was applied; forcing it takes the fields."""

    code = 409

    def __init__(self, conflicts: Sequence[Conflict]) -> None:
        self.conflicts = sorted(conflicts, key=lambda conflict: conflict._order)
        super().__init__(self._message())

    def _message(self) -> str:
        if len(self.conflicts) == 1:
            only = self.conflicts[0]
            return f"Apply failed with 1 conflict: conflict with {only.owner}: {only.field}"
        lines = []
        owner = ""
        for conflict in self.conflicts:
            if conflict.owner != owner:
                owner = conflict.owner
                lines.append(f"conflicts with {owner}:")
            lines.append(f"- {conflict.field}")
        return f"Apply failed with {len(self.conflicts)} conflicts: " + "\n".join(lines)
