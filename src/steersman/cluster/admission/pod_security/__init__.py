"""The PodSecurity plugin: enforces the Pod Security Standards that a namespace selects by labels."""

from __future__ import annotations

from steersman.cluster.admission.pod_security.plugin import Exemptions, PodSecurity

__all__ = ["Exemptions", "PodSecurity"]
