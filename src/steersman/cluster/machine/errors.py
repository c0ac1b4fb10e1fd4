"""The errors of address allocation.

MachineError
├── RangeTaken        another cluster or network of this machine has the range
└── AddressesUsedUp   every address of a range is given away
"""

from __future__ import annotations

__all__ = ["AddressesUsedUp", "MachineError", "RangeTaken"]


class MachineError(Exception):
    """An address or range cannot be allocated."""


class RangeTaken(MachineError):
    """The range is in use."""


class AddressesUsedUp(MachineError):
    """No address is left in a range."""
