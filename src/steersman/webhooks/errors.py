"""What goes wrong with webhooks.

    WebhookError          a mistake in how a webhook was declared or set up (a RuntimeProblem)
    ├── CannotListen      the address is taken, or not this machine's
    └── NotMigrated       objects that could not be rewritten in the version to be stored
    Denied                raised by a validating or mutating function: the write is refused

Whatever else such a function raises is a failure of the webhook: the failure policy decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Self

from steersman.runtime.errors import RuntimeProblem

__all__ = ["CannotListen", "Denied", "NotMigrated", "WebhookError"]

_FORBIDDEN: Final = (403, "Forbidden")
_INVALID: Final = (422, "Invalid")


class WebhookError(RuntimeProblem):
    """The message names the webhook, and what to do instead."""


class CannotListen(WebhookError):
    """Only whoever starts the process can help."""


class NotMigrated(WebhookError):
    """Some objects are still stored in an old version."""


class Denied(Exception):
    """`raise Denied("an image needs a tag", field="spec.image")`: whoever writes gets to read it.

    With a field the refusal is an Invalid (422) like those of the schema, without one a Forbidden (403).
    """

    def __init__(self, message: str, *, field: str = "", code: int | None = None, reason: str = "") -> None:
        super().__init__(message)
        self.message = message
        #: What is wrong with which field; the key is empty where no field was named.
        self.problems: Mapping[str, str] = {field: message}
        default_code, default_reason = _INVALID if field else _FORBIDDEN
        self.code = code or default_code
        self.reason = reason or (default_reason if code in (None, default_code) else "")

    @classmethod
    def fields(cls, problems: Mapping[str, str]) -> Self:
        """Several at once: what is wrong, by field."""
        denied = cls("; ".join(problems.values()), field=next(iter(problems)))
        denied.problems = dict(problems)
        return denied
