"""Shuffle sharding: each flow is dealt a few of its level's queues, so that few flows share all of theirs."""

from __future__ import annotations

import hashlib

__all__ = ["deal", "hash_flow"]


def hash_flow(schema: str, distinguisher: str) -> int:
    """64 bits that name a flow, the same in every process."""
    digest = hashlib.sha256(f"{schema}\0{distinguisher}".encode()).digest()
    return int.from_bytes(digest[:8], "little")


def deal(entropy: int, deck_size: int, hand_size: int) -> tuple[int, ...]:
    """`hand_size` different cards of a deck, chosen by `entropy`."""
    hand: list[int] = []
    drawn: list[int] = []
    for dealt in range(min(hand_size, deck_size)):
        entropy, card = divmod(entropy, deck_size - dealt)
        drawn.append(card)
        # The n-th card is a position among those still in the deck: step over the ones dealt before.
        for earlier in reversed(drawn[:-1]):
            if card >= earlier:
                card += 1
        hand.append(card)
    return tuple(hand)
