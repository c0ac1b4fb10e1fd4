"""How webhooks are served, as far as their functions do not say."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from steersman.webhooks.errors import WebhookError

__all__ = ["WebhookSettings", "default_names"]

_DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class WebhookSettings:
    """Everything but an address has a default that suits a Deployment with a Service."""

    #: Where the API's questions arrive; None for nowhere: nothing is served, registered or required then.
    address: str | None = ":9443"
    #: The name or address under which the API server reaches this process directly. Without it: the Service
    #: in a pod, 127.0.0.1 elsewhere.
    host: str = ""
    #: The Service in front of the replicas; by default called after the operator.
    service: str = ""
    service_port: int = 443
    #: The Secret that replicas share; by default called after the operator.
    secret: str = ""
    #: Files `tls.crt` and `tls.key` made by somebody else, cert-manager for example, instead of the Secret.
    cert_dir: Path | str | None = None
    #: With `cert_dir`: the Certificate (NAMESPACE/NAME) whose CA cert-manager puts into the registration.
    inject_ca_from: str = ""
    #: Whether the registration is this process's to make; else it only serves.
    register: bool = True
    serving_life_s: float = 90 * _DAY_S
    authority_life_s: float = 365 * _DAY_S
    #: How long API servers may take to notice a change of the registration. A new authority is announced for
    #: this long before a certificate of it is served.
    overlap_s: float = 60.0
    #: How often certificates and registration are looked at.
    check_every_s: float = 30.0
    #: How long to go on serving when stopping, until nobody sends anything here any more: in a pod 5 s.
    linger_s: float | None = None

    def check(self) -> None:
        """Raises WebhookError."""
        if self.inject_ca_from and self.cert_dir is None:
            raise WebhookError("inject_ca_from is for certificates of cert-manager: set cert_dir, too")
        if self.serving_life_s * 2 > self.authority_life_s:
            raise WebhookError("an authority lives at least twice as long as the certificates it issues")

    @property
    def by_service(self) -> bool:
        """Whether the API reaches this process through the Service."""
        return not self.host and in_pod()

    @property
    def linger(self) -> float:
        return self.linger_s if self.linger_s is not None else 5.0 if in_pod() else 0.0


def default_names(operator: str) -> tuple[str, str]:
    """The Secret and the Service of an operator, where nobody says others."""
    label = operator.replace(".", "-")[:48].strip("-")
    return f"{label}-webhook-certs", f"{label}-webhooks"


def in_pod() -> bool:
    return "KUBERNETES_SERVICE_HOST" in os.environ
