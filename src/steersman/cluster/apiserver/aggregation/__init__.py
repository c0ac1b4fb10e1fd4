"""Aggregated API servers: parts of the API that other servers have, behind the same address.

aggregator      what the API server and the cluster call         start here
registrations   APIService objects, remote and local
availability    whether backends can be reached
merging         discovery as if all were one server
schemas         OpenAPI documents of backends
proxy           one request, passed on
identity, connections   who asks, and over what
"""

from __future__ import annotations

from steersman.cluster.apiserver.aggregation.aggregator import Aggregator
from steersman.cluster.apiserver.aggregation.identity import authentication_config_map
from steersman.cluster.apiserver.aggregation.registrations import Backend, register_local

__all__ = ["Aggregator", "Backend", "authentication_config_map", "register_local"]
