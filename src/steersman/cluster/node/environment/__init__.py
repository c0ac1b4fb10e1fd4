"""The environment variables of containers: sources, and the expansion of `$(VAR)`.

Start reading at `variables`.
"""

from __future__ import annotations

from steersman.cluster.node.environment.expansion import expand, expand_all
from steersman.cluster.node.environment.service_links import service_variables
from steersman.cluster.node.environment.variables import EnvironmentSources, environment

__all__ = ["EnvironmentSources", "environment", "expand", "expand_all", "service_variables"]
