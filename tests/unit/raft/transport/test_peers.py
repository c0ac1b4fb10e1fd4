"""Who is on this machine, by the names that gRPC gives to peers."""

from __future__ import annotations

import pytest

from steersman.raft.transport.grpc import _is_here


@pytest.mark.parametrize(
    ("peer", "here"),
    [
        ("ipv4:127.0.0.1:5000", True),
        ("ipv6:%5B::1%5D:5000", True),
        ("ipv6:[::1]:5000", True),
        ("unix:/run/raft.sock", True),
        ("ipv4:10.0.0.1:5000", False),
        ("ipv6:%5Bfd00::1%5D:5000", False),
        ("ipv4:127.0.0.1.example.com:1", False),
        ("", False),
    ],
)
def test_only_loopback_is_here(peer, here):
    assert _is_here(peer) is here
