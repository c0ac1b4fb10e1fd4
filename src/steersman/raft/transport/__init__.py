"""How members reach each other, and how clients reach them. Start reading at `interface` for members and at
`requests` for clients; `grpc` is the real network, with `clients` for the latter.

These two need `steersman[raft]`; they are imported by whoever asks for them.
"""

from __future__ import annotations

from steersman.raft.transport.interface import (
    Administer,
    Hello,
    JoinReply,
    JoinRequest,
    MemberReport,
    Network,
    NodeReport,
    Order,
    OrderReply,
    ProbeReply,
    ProbeRequest,
    Receiver,
)

__all__ = [
    "Administer",
    "Hello",
    "JoinReply",
    "JoinRequest",
    "MemberReport",
    "Network",
    "NodeReport",
    "Order",
    "OrderReply",
    "ProbeReply",
    "ProbeRequest",
    "Receiver",
]
