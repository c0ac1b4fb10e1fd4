"""What the kit fails a test with.

AssertionError
├── NotYet              what was waited for did not become true in time
├── WritesMade          there were writes where there should be none
├── OperatorDied        an operator ended by itself; its error is the cause
└── KubectlFailed       kubectl ended with another code than 0
"""

from __future__ import annotations

__all__ = ["KubectlFailed", "NotYet", "OperatorDied", "WritesMade"]


class NotYet(AssertionError):
    """What was waited for did not become true in time."""


class WritesMade(AssertionError):
    """There were writes where there should be none; the message lists them."""


class OperatorDied(AssertionError):
    """An operator ended though nobody stopped it; the cause says why."""


class KubectlFailed(AssertionError):
    """kubectl ended with `code`; the message is what it printed."""

    def __init__(self, arguments: tuple[str, ...], code: int, err: str) -> None:
        super().__init__(f"kubectl {' '.join(arguments)} ended with {code}: {err.strip()}")
        self.code = code
        self.err = err
