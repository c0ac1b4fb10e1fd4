"""Endpoints below an object that are more than a part of it: scale, binding, eviction, connections."""

from __future__ import annotations

from steersman.cluster.apiserver.subresources.binding import bind
from steersman.cluster.apiserver.subresources.connect import connect
from steersman.cluster.apiserver.subresources.eviction import evict
from steersman.cluster.apiserver.subresources.scale import get_scale, patch_scale, update_scale

__all__ = ["bind", "connect", "evict", "get_scale", "patch_scale", "update_scale"]
