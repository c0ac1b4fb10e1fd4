"""The ResourceQuota plugin: limits the objects and compute resources of a namespace."""

from __future__ import annotations

from steersman.cluster.admission.quota.charges import UpdateStatus
from steersman.cluster.admission.quota.checking import LimitedResource
from steersman.cluster.admission.quota.plugin import ResourceQuota
from steersman.cluster.admission.quota.recounting import recalculate

__all__ = ["LimitedResource", "ResourceQuota", "UpdateStatus", "recalculate"]
