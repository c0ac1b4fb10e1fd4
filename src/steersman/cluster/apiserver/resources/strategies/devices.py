"""Strategies of resource.k8s.io (dynamic resource allocation)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from steersman.cluster.apiserver.resources.strategies.strategy import Strategy, spec_of, status_endpoint
from steersman.objects.fields import quote
from steersman.objects.kinds import Object
from steersman.objects.times import format_time

__all__ = ["DEVICES"]


def _update_taint_rule(new: Object, old: Object) -> None:
    taint, before = new["spec"]["taint"], old["spec"]["taint"]
    if taint.get("effect") != before.get("effect") and taint.get("timeAdded") == before.get("timeAdded"):
        taint["timeAdded"] = format_time(datetime.now(UTC))


def _drop_deallocated_devices(new: Object, old: Object) -> None:
    """Status of devices goes with their allocation."""
    allocation = old["status"].get("allocation")
    if not allocation or not new["status"].get("devices"):
        return

    def ids(holder: Object | None) -> set[tuple[str, ...]]:
        results = ((holder or {}).get("devices") or {}).get("results") or ()
        return {_device_id(result) for result in results}

    gone = ids(allocation) - ids(new["status"].get("allocation"))
    devices = [device for device in new["status"]["devices"] if _device_id(device) not in gone]
    new["status"].pop("devices")
    if devices:
        new["status"]["devices"] = devices


def _device_id(device: Object) -> tuple[str, ...]:
    return tuple(str(device.get(key, "")) for key in ("driver", "pool", "device", "shareID"))


def _resource_slice_warnings(resource_slice: Object) -> list[str]:
    driver = resource_slice["spec"].get("driver", "")
    if driver == driver.lower():
        return []
    return [f"spec.driver: driver names should be lowercase; {quote(driver)} contains uppercase characters"]


DEVICES: Final = (
    Strategy("resource.k8s.io", "deviceclasses", generation=spec_of, returns_deleted=True),
    Strategy(
        "resource.k8s.io",
        "devicetaintrules",
        zero_status={},
        generation=spec_of,
        on_update=_update_taint_rule,
        reset_fields=("status",),
        subresources={"status": status_endpoint("metadata")},
        allow_unconditional_update=False,
    ),
    Strategy(
        "resource.k8s.io",
        "resourceclaims",
        returns_deleted=True,
        zero_status={},
        reset_fields=("status",),
        subresources={"status": status_endpoint("metadata", also=_drop_deallocated_devices)},
    ),
    Strategy("resource.k8s.io", "resourceclaimtemplates", returns_deleted=True),
    Strategy(
        "resource.k8s.io",
        "resourceslices",
        returns_deleted=True,
        generation=spec_of,
        create_warnings=_resource_slice_warnings,
        update_warnings=lambda new, old: _resource_slice_warnings(new),
        fields={
            "spec.nodeName": lambda resource_slice: resource_slice["spec"].get("nodeName") or "",
            "spec.driver": lambda resource_slice: resource_slice["spec"].get("driver", ""),
            "spec.pool.name": lambda resource_slice: resource_slice["spec"]["pool"].get("name", ""),
        },
        selects_namespace=False,
        field_refusal="field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: %s",
    ),
)
