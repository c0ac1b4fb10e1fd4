"""How networking, policy, access, scheduling and extension resources are prepared.

Most differ only in whether they have a status and count generations; the table says so.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from steersman.cluster.apiserver.strategies import node_labels
from steersman.cluster.apiserver.strategies.services import load_balancer_warnings
from steersman.cluster.apiserver.strategies.strategy import (
    Object,
    Strategy,
    spec_of,
    status_endpoint,
)
from steersman.objects.addresses import cidr_warnings, ip_warnings
from steersman.objects.fields import Path, quote
from steersman.objects.times import format_time

__all__ = ["CLUSTER"]

_INGRESS_CLASS: Final = "kubernetes.io/ingress.class"
_PDB_LABEL: Final = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"
_ENDPOINT_CONTROLLERS: Final = (
    "endpointslice-controller.k8s.io",
    "endpointslicemirroring-controller.k8s.io",
)


def _now() -> str:
    return format_time(datetime.now(UTC))


# --- Networking


def _ingress_warnings(ingress: Object) -> list[str]:
    annotated = _INGRESS_CLASS in (ingress["metadata"].get("annotations") or ())
    if not annotated or ingress["spec"].get("ingressClassName") is not None:
        return []
    return [f"annotation {quote(_INGRESS_CLASS)} is deprecated, please use 'spec.ingressClassName' instead"]


def _network_policy_warnings(policy: Object) -> list[str]:
    warnings: list[str] = []
    for direction, side in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(policy["spec"].get(direction) or ()):
            for position, peer in enumerate(rule.get(side) or ()):
                if block := peer.get("ipBlock"):
                    place = (
                        Path("spec")
                        .child(direction)
                        .index(index)
                        .child(side)
                        .index(position)
                        .child("ipBlock")
                    )
                    warnings += cidr_warnings(place.child("cidr"), block.get("cidr", ""))
                    for number, cidr in enumerate(block.get("except") or ()):
                        warnings += cidr_warnings(place.child("except").index(number), cidr)
    return warnings


def _endpoint_slice_generation(endpoint_slice: Object) -> object:
    content = {key: value for key, value in endpoint_slice.items() if key != "metadata"}
    return content, endpoint_slice["metadata"].get("labels") or {}


def _endpoint_slice_addresses(endpoint_slice: Object) -> list[str]:
    labels = endpoint_slice["metadata"].get("labels") or {}
    if labels.get("endpointslice.kubernetes.io/managed-by") in _ENDPOINT_CONTROLLERS:
        return []
    return [
        warning
        for index, endpoint in enumerate(endpoint_slice.get("endpoints") or ())
        for position, address in enumerate(endpoint.get("addresses") or ())
        for warning in ip_warnings(Path("endpoints").index(index).child("addresses").index(position), address)
    ]


def _endpoint_slice_warnings(endpoint_slice: Object) -> list[str]:
    fqdn = endpoint_slice.get("addressType") == "FQDN"
    deprecated = ["spec.addressType: FQDN endpoints are deprecated"] if fqdn else []
    return deprecated + _endpoint_slice_addresses(endpoint_slice)


def _drop_topology(new: Object, old: Object | None = None) -> None:
    """v1 says where an endpoint is with nodeName and zone; labels of the older kind are dropped."""
    if old is not None and old.get("endpoints") == new.get("endpoints"):
        return
    for endpoint in new.get("endpoints") or ():
        endpoint.pop("deprecatedTopology", None)


# --- Autoscalers

#: Where an object in autoscaling/v1 keeps what belongs to its spec and to its status.
_SPEC_NOTES: Final = tuple(f"autoscaling.alpha.kubernetes.io/{name}" for name in ("metrics", "behavior"))
_STATUS_NOTES: Final = tuple(
    f"autoscaling.alpha.kubernetes.io/{name}" for name in ("current-metrics", "conditions")
)


def _notes(autoscaler: Object) -> Object:
    return autoscaler["metadata"].get("annotations") or {}


def _autoscaler_generation(autoscaler: Object) -> object:
    notes = _notes(autoscaler)
    return autoscaler["spec"], [notes.get(key) for key in _SPEC_NOTES]


def _keep_notes(new: Object, old: Object | None, keys: tuple[str, ...]) -> None:
    """What a v1 client writes into annotations must not change what its endpoint protects."""
    before = {} if old is None else _notes(old)
    notes = {key: value for key, value in _notes(new).items() if key not in keys}
    notes |= {key: before[key] for key in keys if key in before}
    new["metadata"].pop("annotations", None)
    if notes:
        new["metadata"]["annotations"] = notes


# --- Policy and devices


def _strip_v1beta1_label(new: Object, old: Object | None = None) -> None:
    """The label that once stood for "selects nothing" is not for users to set."""
    selector = new["spec"].get("selector")
    if not selector or (old is not None and old["spec"].get("selector") == selector):
        return
    if selector == {"matchExpressions": [{"key": _PDB_LABEL, "operator": "Exists"}]}:
        return
    kept = [item for item in selector.get("matchExpressions") or () if item.get("key") != _PDB_LABEL]
    selector.pop("matchExpressions", None)
    if kept:
        selector["matchExpressions"] = kept


def _update_taint_rule(new: Object, old: Object) -> None:
    taint, before = new["spec"]["taint"], old["spec"]["taint"]
    if taint.get("effect") != before.get("effect") and taint.get("timeAdded") == before.get("timeAdded"):
        taint["timeAdded"] = _now()


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


def _runtime_class_warnings(runtime_class: Object) -> list[str]:
    labels = (runtime_class.get("scheduling") or {}).get("nodeSelector") or ()
    return [
        f"scheduling.nodeSelector: {node_labels.DEPRECATED[label]}"
        for label in labels
        if label in node_labels.DEPRECATED
    ]


def _drop_election(new: Object, old: Object | None = None) -> None:
    """Coordinated leader election is off, so its fields are kept only where they already are."""
    for key in ("strategy", "preferredHolder"):
        if old is None or old["spec"].get(key) is None:
            new["spec"].pop(key, None)


# --- What extends the API


def _note_stored_version(definition: Object) -> None:
    """The version written to storage is remembered until someone migrated what was stored under it."""
    stored = definition["status"].get("storedVersions") or []
    for version in definition["spec"].get("versions") or ():
        if version.get("storage"):
            if version["name"] not in stored:
                definition["status"] = definition["status"] | {"storedVersions": [*stored, version["name"]]}
            return


def _available_if_local(api_service: Object) -> None:
    if api_service["spec"].get("service") is None:
        api_service["status"]["conditions"] = [
            {
                "type": "Available",
                "status": "True",
                "lastTransitionTime": _now(),
                "reason": "Local",
                "message": "Local APIServices are always available",
            }
        ]


def _static_name_warnings(new: Object, old: Object) -> list[str]:
    if not new["metadata"].get("name", "").endswith(".static.k8s.io"):
        return []
    return [
        'metadata.name: names ending with ".static.k8s.io" are reserved for static manifest-based '
        "configurations and cannot be managed via the API"
    ]


_NEVER_INTERCEPTED: Final = {
    *((resource, "authentication.k8s.io") for resource in ("selfsubjectreviews", "tokenreviews")),
    *(
        (resource, "authorization.k8s.io")
        for resource in (
            "localsubjectaccessreviews",
            "selfsubjectaccessreviews",
            "selfsubjectrulesreviews",
            "subjectaccessreviews",
        )
    ),
}


def _webhook_warnings(configuration: Object) -> list[str]:
    warnings = []
    for index, webhook in enumerate(configuration.get("webhooks") or ()):
        for position, rule in enumerate(webhook.get("rules") or ()):
            groups, resources = rule.get("apiGroups") or (), rule.get("resources") or ()
            if "*" in groups or "*" in resources:
                continue
            place = Path("webhooks").index(index).child("rules").index(position)
            named = dict.fromkeys((resource, group) for group in groups for resource in resources)
            warnings += [
                f"{place}: {resource}.{group} is excluded from admission webhooks; "
                "this rule will have no effect"
                for resource, group in named
                if (resource, group) in _NEVER_INTERCEPTED
            ]
    return warnings


_STATUS: Final = {"status": status_endpoint()}
_GUARDED_STATUS: Final = {"status": status_endpoint("metadata")}

_NETWORKING: Final = (
    Strategy(
        "networking.k8s.io",
        "ingresses",
        zero_status={"loadBalancer": {}},
        generation=spec_of,
        create_warnings=_ingress_warnings,
        reset_fields=("status",),
        subresources={"status": status_endpoint(warnings=load_balancer_warnings)},
    ),
    Strategy("networking.k8s.io", "ingressclasses", generation=spec_of),
    Strategy("networking.k8s.io", "ipaddresses"),
    Strategy(
        "networking.k8s.io",
        "networkpolicies",
        generation=spec_of,
        create_warnings=_network_policy_warnings,
        update_warnings=lambda new, old: _network_policy_warnings(new),
    ),
    Strategy(
        "networking.k8s.io",
        "servicecidrs",
        zero_status={},
        reset_fields=("status",),
        subresources=_GUARDED_STATUS,
    ),
    Strategy(
        "discovery.k8s.io",
        "endpointslices",
        generation=_endpoint_slice_generation,
        on_create=_drop_topology,
        on_update=_drop_topology,
        create_warnings=_endpoint_slice_warnings,
        update_warnings=lambda new, old: _endpoint_slice_addresses(new),
    ),
)

_POLICY: Final = (
    Strategy(
        "policy",
        "poddisruptionbudgets",
        zero_status={"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0},
        generation=spec_of,
        on_create=_strip_v1beta1_label,
        on_update=_strip_v1beta1_label,
        reset_fields=("status",),
        subresources=_STATUS,
        allow_unconditional_update=False,
    ),
    Strategy(
        "autoscaling",
        "horizontalpodautoscalers",
        zero_status={"desiredReplicas": 0, "currentMetrics": None},
        generation=_autoscaler_generation,
        on_create=lambda autoscaler: _keep_notes(autoscaler, None, _STATUS_NOTES),
        on_update=lambda new, old: _keep_notes(new, old, _STATUS_NOTES),
        reset_fields=("status",),
        subresources={"status": status_endpoint(also=lambda new, old: _keep_notes(new, old, _SPEC_NOTES))},
    ),
    *(
        Strategy("rbac.authorization.k8s.io", plural, allow_create_on_update=True)
        for plural in ("roles", "rolebindings", "clusterroles", "clusterrolebindings")
    ),
    # Its generation is 1 for ever: nothing that matters about it can change.
    Strategy("scheduling.k8s.io", "priorityclasses", generation=lambda priority_class: None),
    Strategy(
        "coordination.k8s.io",
        "leases",
        on_create=_drop_election,
        on_update=_drop_election,
        allow_create_on_update=True,
        allow_unconditional_update=False,
    ),
    Strategy(
        "node.k8s.io",
        "runtimeclasses",
        create_warnings=_runtime_class_warnings,
        update_warnings=lambda new, old: _runtime_class_warnings(new),
        allow_create_on_update=True,
        allow_unconditional_update=False,
    ),
    *(
        Strategy(
            "flowcontrol.apiserver.k8s.io",
            plural,
            zero_status={},
            generation=spec_of,
            reset_fields=("status",),
            subresources=_GUARDED_STATUS,
        )
        for plural in ("flowschemas", "prioritylevelconfigurations")
    ),
)

_DEVICES: Final = (
    Strategy("resource.k8s.io", "deviceclasses", generation=spec_of),
    Strategy(
        "resource.k8s.io",
        "devicetaintrules",
        zero_status={},
        generation=spec_of,
        on_update=_update_taint_rule,
        reset_fields=("status",),
        subresources=_GUARDED_STATUS,
        allow_unconditional_update=False,
    ),
    Strategy(
        "resource.k8s.io",
        "resourceclaims",
        zero_status={},
        reset_fields=("status",),
        subresources={"status": status_endpoint("metadata", also=_drop_deallocated_devices)},
    ),
    Strategy("resource.k8s.io", "resourceclaimtemplates"),
    Strategy(
        "resource.k8s.io",
        "resourceslices",
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

_EXTENSIONS: Final = (
    Strategy(
        "apiextensions.k8s.io",
        "customresourcedefinitions",
        zero_status={"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": None},
        generation=spec_of,
        on_create=_note_stored_version,
        on_update=lambda new, old: _note_stored_version(new),
        reset_fields=("status",),
        subresources=_STATUS,
        allow_unconditional_update=False,
    ),
    Strategy(
        "apiregistration.k8s.io",
        "apiservices",
        zero_status={},
        on_create=_available_if_local,
        reset_fields=("status",),
        subresources=_GUARDED_STATUS,
        allow_unconditional_update=False,
    ),
    Strategy(
        "storagemigration.k8s.io",
        "storageversionmigrations",
        zero_status={},
        reset_fields=("status",),
        subresources=_GUARDED_STATUS,
        allow_unconditional_update=False,
    ),
    *(
        Strategy(
            "admissionregistration.k8s.io",
            plural,
            generation=lambda configuration: configuration.get("webhooks") or [],
            create_warnings=_webhook_warnings,
            update_warnings=lambda new, old: _static_name_warnings(new, old) + _webhook_warnings(new),
            allow_unconditional_update=False,
        )
        for plural in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
    ),
    Strategy(
        "admissionregistration.k8s.io",
        "validatingadmissionpolicies",
        zero_status={},
        generation=spec_of,
        update_warnings=_static_name_warnings,
        reset_fields=("status",),
        subresources=_GUARDED_STATUS,
        allow_unconditional_update=False,
    ),
    *(
        Strategy(
            "admissionregistration.k8s.io",
            plural,
            generation=spec_of,
            update_warnings=_static_name_warnings,
            allow_unconditional_update=False,
        )
        for plural in (
            "validatingadmissionpolicybindings",
            "mutatingadmissionpolicies",
            "mutatingadmissionpolicybindings",
        )
    ),
)

CLUSTER: Final = (*_NETWORKING, *_POLICY, *_DEVICES, *_EXTENSIONS)
