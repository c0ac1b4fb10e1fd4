"""Probes and lifecycle hooks: the handlers that kubelet calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from steersman.cluster.schema.validation.rules import Object, invalids
from steersman.objects.fields import FieldError, Path, forbidden, invalid, not_supported, required
from steersman.objects.metadata import validate_nonnegative
from steersman.objects.names import is_http_header_name, is_port_name, is_port_number

__all__ = ["validate_lifecycle", "validate_port_number_or_name", "validate_probes"]

_SCHEMES: Final = ("HTTP", "HTTPS")
_PROTOCOLS: Final = ("HTTP1", "HTTP2")
_GRPC_MODES: Final = ("Plaintext", "TLS")
_PROBE_NUMBERS: Final = (
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
)
_WINDOWS_SIGNALS: Final = ("SIGKILL", "SIGTERM")
_SIGNAL_NAMES: Final = (
    "ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS "
    "TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN RTMAX"
)
_REAL_TIME: Final = [f"RTMIN+{n}" for n in range(1, 16)] + [f"RTMAX-{n}" for n in range(1, 15)]
_LINUX_SIGNALS: Final = tuple(sorted(f"SIG{name}" for name in [*_SIGNAL_NAMES.split(), *_REAL_TIME]))


def validate_probes(container: Object, grace_period: int | None, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    for kind in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(kind)
        if probe is None:
            continue
        here = path.child(kind)
        errors += _validate_probe(probe, grace_period, here)
        if kind != "readinessProbe":
            threshold = probe.get("successThreshold", 0)
            if threshold != 1:
                errors.append(invalid(here.child("successThreshold"), threshold, "must be 1"))
        elif (seconds := probe.get("terminationGracePeriodSeconds")) is not None:
            text = "must not be set for readinessProbes"
            errors.append(invalid(here.child("terminationGracePeriodSeconds"), seconds, text))
    return errors


def _validate_probe(probe: Object, grace_period: int | None, path: Path) -> list[FieldError]:
    errors = _validate_handler(probe, _PROBE_HANDLERS, grace_period, path)
    for field in _PROBE_NUMBERS:
        if (number := probe.get(field, 0)) < 0:
            errors += validate_nonnegative(number, path.child(field))
    seconds = probe.get("terminationGracePeriodSeconds")
    if seconds is not None and seconds <= 0:
        errors.append(invalid(path.child("terminationGracePeriodSeconds"), seconds, "must be greater than 0"))
    return errors


def validate_lifecycle(
    lifecycle: Object, grace_period: int | None, system: Object | None, path: Path
) -> list[FieldError]:
    """`system` is the pod's `os`, which decides the signals there are."""
    errors: list[FieldError] = []
    for hook in ("postStart", "preStop"):
        if (handler := lifecycle.get(hook)) is not None:
            errors += _validate_handler(handler, _HOOK_HANDLERS, grace_period, path.child(hook))
    if (signal := lifecycle.get("stopSignal")) is not None:
        errors += _validate_stop_signal(signal, system, path.child("stopSignal"))
    return errors


def _validate_stop_signal(signal: str, system: Object | None, path: Path) -> list[FieldError]:
    if system is None:
        return [forbidden(path, "may not be set for containers with empty `spec.os.name`")]
    signals = {"windows": _WINDOWS_SIGNALS, "linux": _LINUX_SIGNALS}.get(system.get("name", ""))
    if signals is None or signal in signals:
        return []
    return [not_supported(path, signal, signals)]


_Handler = Callable[[Object, int | None, Path], list[FieldError]]


def _validate_handler(
    handler: Object, kinds: dict[str, _Handler], grace_period: int | None, path: Path
) -> list[FieldError]:
    errors: list[FieldError] = []
    count = 0
    for kind, check in kinds.items():
        action = handler.get(kind)
        if action is None:
            continue
        count += 1
        if count > 1:
            errors.append(forbidden(path.child(kind), "may not specify more than 1 handler type"))
        else:
            errors += check(action, grace_period, path.child(kind))
    if count == 0:
        errors.append(required(path, "must specify a handler type"))
    return errors


def _validate_exec(action: Object, grace_period: int | None, path: Path) -> list[FieldError]:
    return [] if action.get("command") else [required(path.child("command"))]


def _validate_http(action: Object, grace_period: int | None, path: Path) -> list[FieldError]:
    errors = [] if action.get("path") else [required(path.child("path"))]
    errors += validate_port_number_or_name(action.get("port", 0), path.child("port"))
    scheme = action.get("scheme", "")
    if scheme not in _SCHEMES:
        errors.append(not_supported(path.child("scheme"), scheme, _SCHEMES))
    for header in action.get("httpHeaders") or ():
        name = header.get("name", "")
        errors += invalids(path.child("httpHeaders"), name, is_http_header_name(name))
    protocol = action.get("protocol")
    if protocol is not None and protocol not in _PROTOCOLS:
        errors.append(not_supported(path.child("protocol"), protocol, _PROTOCOLS))
    elif protocol == "HTTP2" and scheme != "HTTP":
        errors.append(invalid(path.child("protocol"), protocol, "is only supported with HTTP (H2C)"))
    elif protocol == "HTTP2" and action.get("host"):
        text = 'must be empty when `protocol` is "HTTP2"'
        errors.append(invalid(path.child("host"), action["host"], text))
    return errors


def _validate_tcp(action: Object, grace_period: int | None, path: Path) -> list[FieldError]:
    return validate_port_number_or_name(action.get("port", 0), path.child("port"))


def _validate_grpc(action: Object, grace_period: int | None, path: Path) -> list[FieldError]:
    errors = validate_port_number_or_name(action.get("port", 0), path.child("port"))
    mode = action.get("mode")
    if mode is not None and mode not in _GRPC_MODES:
        errors.append(not_supported(path.child("mode"), mode, _GRPC_MODES))
    return errors


def _validate_sleep(action: Object, grace_period: int | None, path: Path) -> list[FieldError]:
    seconds = action.get("seconds", 0)
    # Without a valid grace period the real problem is told elsewhere.
    if grace_period is None or 0 <= seconds <= grace_period:
        return []
    text = f"must be non-negative and less than terminationGracePeriodSeconds ({grace_period})"
    return [invalid(path, seconds, text)]


def validate_port_number_or_name(port: int | str, path: Path) -> list[FieldError]:
    return invalids(path, port, is_port_name(port) if isinstance(port, str) else is_port_number(port))


_PROBE_HANDLERS: Final[dict[str, _Handler]] = {
    "exec": _validate_exec,
    "httpGet": _validate_http,
    "tcpSocket": _validate_tcp,
    "grpc": _validate_grpc,
}
_HOOK_HANDLERS: Final[dict[str, _Handler]] = {
    "exec": _validate_exec,
    "httpGet": _validate_http,
    "tcpSocket": _validate_tcp,
    "sleep": _validate_sleep,
}
