"""The root CA certificate publisher: keeps the ConfigMap kube-root-ca.crt in every namespace."""

from __future__ import annotations

from typing import Final

from steersman.cluster.controllers.once_per_namespace import add_once_per_namespace
from steersman.cluster.controllers.setup import Setup
from steersman.objects.kinds import Object
from steersman.objects.resources import CONFIG_MAPS

__all__ = ["add"]


_NAME: Final = "kube-root-ca.crt"
_DESCRIPTION: Final = "kubernetes.io/description"
_ABOUT: Final = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such "
    "as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions "
    "of Kubernetes clusters."
)


def add(setup: Setup) -> None:
    """Without a certificate there is nothing to publish."""
    if not setup.options.root_certificate:
        return
    data = {"ca.crt": setup.options.root_certificate}

    def right(found: Object) -> Object | None:
        metadata = found["metadata"]
        annotations = metadata.get("annotations") or {}
        if found.get("data") == data and annotations.get(_DESCRIPTION):
            return None
        described = {**annotations, _DESCRIPTION: _ABOUT}
        return {**found, "data": data, "metadata": {**metadata, "annotations": described}}

    informer = setup.informer(CONFIG_MAPS, fields=f"metadata.name={_NAME}")
    wanted = {"metadata": {"name": _NAME, "annotations": {_DESCRIPTION: _ABOUT}}, "data": data}
    add_once_per_namespace(setup, "root-ca-certificate-publisher", informer, wanted, right)
