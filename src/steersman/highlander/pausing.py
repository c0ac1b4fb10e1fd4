"""Which workloads are paused: a ConfigMap of the tenant, so that it lasts over changes of leadership."""

from __future__ import annotations

from collections.abc import Iterable

from steersman.client import Client
from steersman.highlander.workloads.ownership import MANAGER, label_value
from steersman.objects.resources import CONFIG_MAPS

__all__ = ["load_paused", "save_paused"]

_FIELD = "paused"


async def load_paused(client: Client, tenant: str, namespace: str) -> set[str]:
    """Keys of workloads."""
    found = await client.find(CONFIG_MAPS, _name(tenant), namespace)
    return set(((found or {}).get("data") or {}).get(_FIELD, "").split())


async def save_paused(client: Client, tenant: str, namespace: str, keys: Iterable[str]) -> None:
    config_map = {
        "metadata": {
            "name": _name(tenant),
            "namespace": namespace,
            "labels": {"managed-by": MANAGER, "tenant": label_value(tenant)},
        },
        "data": {_FIELD: "\n".join(sorted(keys))},
    }
    await client.apply(config_map, kind=CONFIG_MAPS, field_manager=MANAGER)


def _name(tenant: str) -> str:
    return f"highlander-{label_value(tenant).lower()}"
