"""Taints of nodes and the tolerations of pods. Pure; read from bytes and shared, as in `requests`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

import msgspec

from steersman.objects.kinds.views.taints import Taint, Toleration

__all__ = [
    "NO_TAINTS",
    "NO_TOLERATIONS",
    "Taint",
    "Toleration",
    "Tolerations",
    "read_taints",
    "read_tolerations",
    "untolerated",
]

_CACHED: Final = 4096


Taints = tuple[Taint, ...]
Tolerations = tuple[Toleration, ...]
NO_TAINTS: Final[Taints] = ()
NO_TOLERATIONS: Final[Tolerations] = ()

_decode_taints = msgspec.json.Decoder(Taints).decode
_decode_tolerations = msgspec.json.Decoder(Tolerations).decode


@lru_cache(_CACHED)
def read_taints(data: bytes) -> Taints:
    return _decode_taints(data) if data and data != b"null" else NO_TAINTS


@lru_cache(_CACHED)
def read_tolerations(data: bytes) -> Tolerations:
    return _decode_tolerations(data) if data and data != b"null" else NO_TOLERATIONS


def untolerated(taints: Iterable[Taint], tolerated: Tolerations) -> Taint | None:
    """The first taint that keeps pods with these tolerations out."""
    for taint in taints:
        if taint.keeps_out and not any(toleration.tolerates(taint) for toleration in tolerated):
            return taint
    return None
