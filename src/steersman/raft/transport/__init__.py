"""How members reach each other. Start reading at `interface`; `grpc` is the real network.

`grpc` needs `steersman[raft]`; it is imported by whoever asks for it.
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
