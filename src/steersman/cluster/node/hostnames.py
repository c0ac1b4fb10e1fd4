"""The hostname and domain of a pod (spec.hostname, subdomain, setHostnameAsFQDN). Pure."""

from __future__ import annotations

from typing import Final

from steersman.objects.kinds.types.core_v1 import Pod

__all__ = ["host_and_domain"]

#: What the kernel has room for.
_LONGEST: Final = 63


def host_and_domain(pod: Pod, cluster_domain: str, node: str) -> tuple[str, str]:
    """The pod's host name, and the domain it is in if it has a subdomain."""
    spec, metadata = pod["spec"], pod["metadata"]
    if override := spec.get("hostnameOverride"):
        return _fitting(override), ""
    if spec.get("hostNetwork"):
        return node, ""
    domain = ""
    if subdomain := spec.get("subdomain"):
        domain = f"{subdomain}.{metadata['namespace']}.svc.{cluster_domain}"
    return _fitting(spec.get("hostname") or metadata["name"]), domain


def _fitting(name: str) -> str:
    return name if len(name) <= _LONGEST else name[:_LONGEST].rstrip("-.")
