"""The service account controller: keeps the ServiceAccount `default` in every namespace."""

from __future__ import annotations

from steersman.cluster.controllers.once_per_namespace import add_once_per_namespace
from steersman.cluster.controllers.setup import Setup
from steersman.objects.resources import SERVICE_ACCOUNTS

__all__ = ["add"]


def add(setup: Setup) -> None:
    accounts = setup.informer(SERVICE_ACCOUNTS)
    add_once_per_namespace(setup, "serviceaccount", accounts, {"metadata": {"name": "default"}})
