"""The errors of admission policies.

PolicyMisconfigured     a policy or binding that cannot be used on this write; its failure policy decides
MutationFailed          a mutation that cannot be applied; likewise
"""

from __future__ import annotations

__all__ = ["MutationFailed", "PolicyMisconfigured"]


class PolicyMisconfigured(Exception):
    """A policy or binding that cannot be used for this write. The message is for the client."""


class MutationFailed(Exception):
    """A mutation that cannot be applied. The message is for the client."""
