"""IP addresses of this machine for a cluster: ranges that no other cluster uses, and addresses to listen on.

Start reading at `machine`, then `ranges` (which ranges, and how clusters share a machine), `netlink` (the
kernel interface) and `pod_addresses`. Nothing here knows the API.
"""

from __future__ import annotations

from steersman.cluster.machine.errors import AddressesUsedUp, MachineError, RangeTaken
from steersman.cluster.machine.machine import Machine, open_machine
from steersman.cluster.machine.pod_addresses import PodAddresses
from steersman.cluster.machine.ranges import Ranges

__all__ = [
    "AddressesUsedUp",
    "Machine",
    "MachineError",
    "PodAddresses",
    "RangeTaken",
    "Ranges",
    "open_machine",
]
