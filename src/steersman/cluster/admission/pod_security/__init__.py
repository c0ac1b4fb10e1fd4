"""PodSecurity: namespaces say by labels how much their pods may do."""

from __future__ import annotations

from steersman.cluster.admission.pod_security.plugin import Exemptions, PodSecurity

__all__ = ["Exemptions", "PodSecurity"]
