"""Errors of the audit log: why it cannot be opened.

AuditError
├── PolicyInvalid   the policy file cannot be read or means nothing    (the file's author)
└── LogUnusable     the log cannot be opened                           (the operator)

Both are one line that names the file.
"""

from __future__ import annotations

__all__ = ["AuditError", "LogUnusable", "PolicyInvalid"]


class AuditError(Exception):
    """Auditing cannot start."""

    def __init__(self, file: str, problem: str) -> None:
        super().__init__(f"{file}: {problem}".replace("\n", " "))


class PolicyInvalid(AuditError):
    """The policy file cannot be read or means nothing."""


class LogUnusable(AuditError):
    """The log cannot be opened."""
