"""Validation of resource claims, their templates and device classes, up to the compilation of expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from steersman.cluster.schema.validation.device_parts import (
    MOST_SELECTORS,
    declared_driver,
    declared_list,
    declared_toleration,
    validate_each,
    validate_fully_qualified_name,
    validate_opaque,
    validate_pool_name,
    validate_selectors,
    validate_toleration,
)
from steersman.cluster.schema.validation.rules import Object, invalids
from steersman.objects.fields import FieldError, Path, forbidden, invalid, not_supported, required
from steersman.objects.metadata import validate_annotations, validate_immutable, validate_labels
from steersman.objects.names import is_dns1123_label, is_dns1123_subdomain, is_qualified_name

__all__ = [
    "declared_of_claim",
    "declared_of_class",
    "declared_of_template",
    "validate_claim",
    "validate_claim_status",
    "validate_class",
    "validate_template",
    "validate_template_update",
]

_SPEC: Final = Path("spec")
_STATUS: Final = Path("status")
_MOST: Final = 32
_MOST_ALTERNATIVES: Final = 8
_MOST_CONSUMERS: Final = 256
_ALLOCATION_MODES: Final = ("All", "ExactCount")
_UNKNOWN_REQUEST: Final = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)


def validate_claim(obj: Object) -> list[FieldError]:
    return _devices((obj.get("spec") or {}).get("devices") or {}, _SPEC.child("devices"))


def declared_of_claim(obj: Object, old: Object | None) -> list[FieldError]:
    spec = obj.get("spec") or {}
    if old is None:
        return _declared_devices(spec.get("devices") or {}, _SPEC.child("devices"))
    immutable = [] if spec == (old.get("spec") or {}) else [invalid(_SPEC, None, "field is immutable")]
    return immutable + _declared_status(obj.get("status") or {}, old.get("status") or {})


def validate_template(obj: Object) -> list[FieldError]:
    spec = obj.get("spec") or {}
    metadata, path = spec.get("metadata") or {}, _SPEC.child("metadata")
    devices = (spec.get("spec") or {}).get("devices") or {}
    return [
        *validate_annotations(metadata.get("annotations") or {}, path.child("annotations")),
        *validate_labels(metadata.get("labels") or {}, path.child("labels")),
        *_devices(devices, _SPEC.child("spec", "devices")),
    ]


def validate_template_update(obj: Object, old: Object) -> list[FieldError]:
    return validate_immutable(obj.get("spec"), old.get("spec"), _SPEC)


def declared_of_template(obj: Object, old: Object | None) -> list[FieldError]:
    spec = obj.get("spec") or {}
    if old is not None and spec == (old.get("spec") or {}):
        return []
    devices = (spec.get("spec") or {}).get("devices") or {}
    return _declared_devices(devices, _SPEC.child("spec", "devices"))


def validate_class(obj: Object) -> list[FieldError]:
    spec = obj.get("spec") or {}
    errors = validate_selectors(spec.get("selectors") or (), _SPEC.child("selectors"))
    return errors + validate_each(spec.get("config") or (), _MOST, validate_opaque, _SPEC.child("config"))


def declared_of_class(obj: Object, old: Object | None) -> list[FieldError]:
    spec, before = obj.get("spec") or {}, None if old is None else old.get("spec") or {}

    def changed(field: str) -> bool:
        return before is None or spec.get(field) != before.get(field)

    errors: list[FieldError] = []
    if changed("selectors"):
        errors += declared_list(spec.get("selectors") or (), MOST_SELECTORS, _SPEC.child("selectors"))
    if changed("config"):
        errors += declared_list(spec.get("config") or (), _MOST, _SPEC.child("config"), _declared_opaque)
    name = spec.get("extendedResourceName")
    if name is not None and changed("extendedResourceName"):
        errors += _declared_extended_resource(name, _SPEC.child("extendedResourceName"))
    return errors


def _declared_extended_resource(name: str, path: Path) -> list[FieldError]:
    """The name under which pods ask for devices of the class as for any other resource."""
    errors = []
    if "/" not in name:
        text = "a name must be a domain-prefixed path, such as 'example.com/my-prop'"
        errors.append(invalid(path, name, text))
    elif "kubernetes.io/" in name:
        errors.append(invalid(path, name, 'must not have "kubernetes.io/" domain'))
    if name.startswith("requests."):
        errors.append(invalid(path, name, 'must not have "requests." prefix'))
    return errors + invalids(path, name, is_qualified_name(f"requests.{name}"))


# --- Requests for devices


def _devices(devices: Object, path: Path) -> list[FieldError]:
    requests = devices.get("requests") or []
    refers = _reference_check(requests)

    def constraint(obj: Object, at: Path) -> list[FieldError]:
        errors = validate_each(obj.get("requests") or (), _MOST, refers, at.child("requests"))
        if obj.get("matchAttribute") is None and obj.get("distinctAttribute") is None:
            text = 'exactly one of "matchAttribute" or "distinctAttribute" is required'
            text += ", but multiple fields are set"
            errors.append(required(at, text))
        return errors

    def config(obj: Object, at: Path) -> list[FieldError]:
        errors = validate_each(obj.get("requests") or (), _MOST, refers, at.child("requests"))
        return errors + validate_opaque(obj, at)

    errors = validate_each(requests, _MOST, _request, path.child("requests"))
    errors += validate_each(devices.get("constraints") or (), _MOST, constraint, path.child("constraints"))
    return errors + validate_each(devices.get("config") or (), _MOST, config, path.child("config"))


def _reference_check(requests: list[Object]) -> Callable[[str, Path], list[FieldError]]:
    """The check of a reference to a request, or to an alternative of one."""
    known = {request.get("name", "") for request in requests}
    known |= {
        f"{request.get('name', '')}/{alternative.get('name', '')}"
        for request in requests
        for alternative in request.get("firstAvailable") or ()
    }

    def check(name: str, path: Path) -> list[FieldError]:
        segments = name.split("/")
        if len(segments) > 2:
            return [invalid(path, name, _UNKNOWN_REQUEST)]
        errors = [error for part in segments for error in invalids(path, part, is_dns1123_label(part))]
        return errors if name in known else [*errors, invalid(path, name, _UNKNOWN_REQUEST)]

    return check


def _request(request: Object, path: Path) -> list[FieldError]:
    name, exactly = request.get("name", ""), request.get("exactly")
    alternatives = request.get("firstAvailable") or []
    errors = invalids(path.child("name"), name, is_dns1123_label(name))
    text = "exactly one of `exactly` or `firstAvailable` is required"
    if exactly is None and not alternatives:
        errors.append(required(path, text))
    elif exactly is not None and alternatives:
        errors.append(invalid(path, None, f"{text}, but multiple fields are set"))
    elif exactly is not None:
        errors += _device_class(exactly.get("deviceClassName", ""), path.child("exactly", "deviceClassName"))
        errors += _wanted(exactly, path.child("exactly"))
    else:
        errors += validate_each(alternatives, _MOST_ALTERNATIVES, _alternative, path.child("firstAvailable"))
    return errors


def _alternative(request: Object, path: Path) -> list[FieldError]:
    name = request.get("name", "")
    return invalids(path.child("name"), name, is_dns1123_label(name)) + _wanted(request, path)


def _device_class(name: str, path: Path) -> list[FieldError]:
    return invalids(path, name, is_dns1123_subdomain(name)) if name else [required(path)]


def _wanted(request: Object, path: Path) -> list[FieldError]:
    """Which devices, how many, and despite which taints."""
    errors = validate_selectors(request.get("selectors") or (), path.child("selectors"))
    mode, count = request.get("allocationMode", ""), request.get("count", 0)
    if mode == "All" and count:
        errors.append(
            invalid(path.child("count"), count, "must not be specified when allocationMode is 'All'")
        )
    elif mode == "ExactCount" and count <= 0:
        errors.append(invalid(path.child("count"), count, "must be greater than zero"))
    for number, toleration in enumerate(request.get("tolerations") or ()):
        errors += validate_toleration(toleration, path.child("tolerations").index(number))
    return errors


# --- What is declared about requests


def _declared_devices(devices: Object, path: Path) -> list[FieldError]:
    errors = declared_list(
        devices.get("requests") or (),
        _MOST,
        path.child("requests"),
        _declared_request,
        lambda request: request.get("name", ""),
    )
    constraints, configs = devices.get("constraints") or (), devices.get("config") or ()
    errors += declared_list(constraints, _MOST, path.child("constraints"), _declared_constraint)
    return errors + declared_list(configs, _MOST, path.child("config"), _declared_config)


def _declared_request(request: Object, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    if request.get("exactly") is not None:
        errors += _declared_wanted(request["exactly"], path.child("exactly"))
    return errors + declared_list(
        request.get("firstAvailable") or (),
        _MOST_ALTERNATIVES,
        path.child("firstAvailable"),
        _declared_alternative,
        lambda alternative: alternative.get("name", ""),
    )


def _declared_alternative(request: Object, path: Path) -> list[FieldError]:
    errors = _device_class(request.get("deviceClassName", ""), path.child("deviceClassName"))
    return errors + _declared_wanted(request, path)


def _declared_wanted(request: Object, path: Path) -> list[FieldError]:
    errors = declared_list(request.get("selectors") or (), MOST_SELECTORS, path.child("selectors"))
    mode = request.get("allocationMode", "")
    if mode and mode not in _ALLOCATION_MODES:
        errors.append(not_supported(path.child("allocationMode"), mode, _ALLOCATION_MODES))
    for number, toleration in enumerate(request.get("tolerations") or ()):
        errors += declared_toleration(toleration, path.child("tolerations").index(number))
    return errors


def _declared_references(obj: Object, path: Path) -> list[FieldError]:
    return declared_list(obj.get("requests") or (), _MOST, path.child("requests"), key=str)


def _declared_constraint(constraint: Object, path: Path) -> list[FieldError]:
    errors = _declared_references(constraint, path)
    for field in ("matchAttribute", "distinctAttribute"):
        if constraint.get(field) is not None:
            errors += validate_fully_qualified_name(constraint[field], path.child(field))
    return errors


def _declared_config(config: Object, path: Path) -> list[FieldError]:
    return _declared_references(config, path) + _declared_opaque(config, path)


def _declared_opaque(config: Object, path: Path) -> list[FieldError]:
    opaque = config.get("opaque")
    return [] if opaque is None else declared_driver(opaque.get("driver", ""), path.child("opaque", "driver"))


# --- Status


def validate_claim_status(obj: Object, old: Object) -> list[FieldError]:
    status, before = obj.get("status") or {}, old.get("status") or {}
    consumers, path = status.get("reservedFor") or [], _STATUS.child("reservedFor")
    errors = validate_each(consumers, _MOST_CONSUMERS, _consumer, path)
    if consumers and status.get("allocation") is None:
        errors.append(forbidden(path, "may not be specified when `allocated` is not set"))
    added = any(consumer not in (before.get("reservedFor") or ()) for consumer in consumers)
    if (
        added
        and status.get("allocation") is not None
        and obj["metadata"].get("deletionTimestamp") is not None
    ):
        text = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
        errors.append(forbidden(path, text))
    if status.get("allocation") is not None and before.get("allocation") is None:
        requests = ((obj.get("spec") or {}).get("devices") or {}).get("requests") or []
        errors += _allocation(status["allocation"], _reference_check(requests))
    return errors


def _consumer(consumer: Object, path: Path) -> list[FieldError]:
    return [required(path.child(field)) for field in ("resource", "name", "uid") if not consumer.get(field)]


_RESULTS: Final = _STATUS.child("allocation", "devices", "results")


def _allocation(allocation: Object, refers: Callable[[str, Path], list[FieldError]]) -> list[FieldError]:
    def result(obj: Object, path: Path) -> list[FieldError]:
        device = obj.get("device", "")
        errors = refers(obj.get("request", ""), path.child("request"))
        return errors + invalids(path.child("device"), device, is_dns1123_label(device))

    return validate_each((allocation.get("devices") or {}).get("results") or (), _MOST, result, _RESULTS)


def _declared_status(status: Object, before: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    allocation, earlier = status.get("allocation"), before.get("allocation")
    if allocation is not None and earlier is not None and allocation != earlier:
        text = "field cannot be modified once set"
        errors.append(invalid(_STATUS.child("allocation"), None, text))
    elif allocation is not None and earlier is None:
        results = (allocation.get("devices") or {}).get("results") or ()
        errors += declared_list(results, _MOST, _RESULTS, _declared_result)
    if status.get("reservedFor") != before.get("reservedFor"):
        errors += declared_list(
            status.get("reservedFor") or (),
            _MOST_CONSUMERS,
            _STATUS.child("reservedFor"),
            key=lambda consumer: consumer.get("uid", ""),
        )
    return errors


def _declared_result(result: Object, path: Path) -> list[FieldError]:
    errors = declared_driver(result.get("driver", ""), path.child("driver"))
    errors += validate_pool_name(result.get("pool", ""), path.child("pool"))
    for number, toleration in enumerate(result.get("tolerations") or ()):
        errors += declared_toleration(toleration, path.child("tolerations").index(number))
    return errors
