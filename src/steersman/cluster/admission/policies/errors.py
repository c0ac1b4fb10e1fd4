"""What goes wrong with policies.

PolicyMisconfigured     a policy or binding that cannot be used on this write; its failure policy decides
MutationFailed          a mutation that cannot be applied; likewise
"""

from __future__ import annotations

__all__ = ["MutationFailed", "PolicyMisconfigured"]


class PolicyMisconfigured(Exception):
    """The message is for the client."""


class MutationFailed(Exception):
    """The message is for the client."""
