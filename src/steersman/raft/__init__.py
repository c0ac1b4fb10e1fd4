"""Raft: one leader among a few members, and a log they agree on.

`core` decides (pure: no I/O, no clock); storage keeps what it asks to keep, transport carries its messages,
and a node drives them.
"""
