"""Defaults of dynamic resource allocation: device requests, tolerations and taints."""

from __future__ import annotations

from datetime import UTC, datetime

from steersman.cluster.schema.defaults.filling import unset, zero
from steersman.objects.kinds import Object

__all__ = [
    "default_device_taint_rule",
    "default_resource_claim",
    "default_resource_claim_template",
    "default_resource_slice",
]


def _default_request(request: Object) -> None:
    zero(request, "allocationMode", "ExactCount")
    if request["allocationMode"] == "ExactCount":
        zero(request, "count", 1)
    _default_tolerations(request)


def _default_tolerations(holder: Object) -> None:
    for toleration in holder.get("tolerations") or ():
        zero(toleration, "operator", "Equal")


def _default_claim_spec(spec: Object) -> None:
    for request in spec["devices"].get("requests") or ():
        if (exactly := request.get("exactly")) is not None:
            _default_request(exactly)
        for alternative in request.get("firstAvailable") or ():
            _default_request(alternative)


def default_resource_claim(claim: Object) -> None:
    _default_claim_spec(claim["spec"])
    if (allocation := claim["status"].get("allocation")) is not None:
        for result in allocation["devices"].get("results") or ():
            _default_tolerations(result)


def default_resource_claim_template(template: Object) -> None:
    _default_claim_spec(template["spec"]["spec"])


def _default_taint(taint: Object) -> None:
    unset(taint, "timeAdded", datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))


def default_device_taint_rule(rule: Object) -> None:
    _default_taint(rule["spec"]["taint"])


def default_resource_slice(resource_slice: Object) -> None:
    for device in resource_slice["spec"].get("devices") or ():
        for taint in device.get("taints") or ():
            _default_taint(taint)
