"""What a machine can refuse.

MachineError
├── RangeTaken        another cluster or network of this machine has the range
└── AddressesUsedUp   every address of a range is given away
"""

from __future__ import annotations

__all__ = ["AddressesUsedUp", "MachineError", "RangeTaken"]


class MachineError(Exception):
    """This machine does not lend what is asked for."""


class RangeTaken(MachineError):
    """Somebody else uses the range now."""


class AddressesUsedUp(MachineError):
    """No address is left."""
