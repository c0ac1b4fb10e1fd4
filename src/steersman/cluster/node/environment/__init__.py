"""The environment of containers: variables from every source, and what `$(VAR)` means.

Start reading at `variables`.
"""

from __future__ import annotations

from steersman.cluster.node.environment.expansion import expand, expand_all
from steersman.cluster.node.environment.service_links import service_variables
from steersman.cluster.node.environment.variables import Sources, environment

__all__ = ["Sources", "environment", "expand", "expand_all", "service_variables"]
