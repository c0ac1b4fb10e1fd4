"""What goes wrong in an operator.

    OperatorError         a mistake in how the operator was written or put together

What a reconcile raises to be handled in a special way (`TerminalError`) is in `steersman.runtime`.
"""

from __future__ import annotations

__all__ = ["OperatorError"]


class OperatorError(Exception):
    """The message names the operator or object, and what to do instead."""
