"""What people write: models of the file, reading it with the environment and flags, its JSON Schema.

Start reading at `models` (what can be said) and `loading` (who wins when it is said twice).
"""

from __future__ import annotations

from steersman.highlander.config.loading import Loaded, Overrides, load
from steersman.highlander.config.models import TenantConfig
from steersman.highlander.config.schema import json_schema
from steersman.highlander.config.specs import (
    CronJobSpec,
    PersistentSpec,
    ProcessSpec,
    ServiceSpec,
    WorkloadSpec,
)

__all__ = [
    "CronJobSpec",
    "Loaded",
    "Overrides",
    "PersistentSpec",
    "ProcessSpec",
    "ServiceSpec",
    "TenantConfig",
    "WorkloadSpec",
    "json_schema",
    "load",
]
