"""What a reconcile raises to say how it ended, and what goes wrong in the runtime itself.

    RuntimeProblem
    ├── TerminalError       trying again would not help; nothing happens until the object changes
    ├── ReconcileTimeout    the reconcile took longer than it may; retried like any failure
    └── AddressInUse        the probes cannot listen where they should (caller's fault)
    Requeue                 no failure: come back after a while

Anything else that a reconcile raises is a failure and retried with growing waits.
"""

from __future__ import annotations

__all__ = ["AddressInUse", "ReconcileTimeout", "Requeue", "RuntimeProblem", "TerminalError"]


class RuntimeProblem(Exception):
    """Anything that goes wrong here on purpose."""


class TerminalError(RuntimeProblem):
    """A failure that no retry can mend: wrong input. The next change of the object is a new chance."""


class ReconcileTimeout(RuntimeProblem):
    """The reconcile was cut off at its time limit."""


class AddressInUse(RuntimeProblem):
    """Somebody else listens there."""


class Requeue(Exception):
    """Leave the reconcile from anywhere and be called again: after `after_s`, or with growing waits."""

    def __init__(self, after_s: float | None = None) -> None:
        super().__init__("again later" if after_s is None else f"again in {after_s:g} s")
        self.after_s = after_s
