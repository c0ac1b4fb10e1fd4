"""Probes and lifecycle hooks: the handlers that kubelet calls."""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.validation.compiled import Check, compiled_check
from steersman.cluster.schema.validation.rules import invalids
from steersman.objects.fields import FieldError, Path, forbidden, invalid, not_supported, required
from steersman.objects.kinds import Object
from steersman.objects.names import is_port_name, is_port_number

__all__ = ["validate_handler", "validate_lifecycle", "validate_port", "validate_probes"]

_WINDOWS_SIGNALS: Final = ("SIGKILL", "SIGTERM")
_SIGNAL_NAMES: Final = (
    "ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS "
    "TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN RTMAX"
)
_REAL_TIME: Final = [f"RTMIN+{n}" for n in range(1, 16)] + [f"RTMAX-{n}" for n in range(1, 15)]
_LINUX_SIGNALS: Final = tuple(sorted(f"SIG{name}" for name in [*_SIGNAL_NAMES.split(), *_REAL_TIME]))


def validate_probes(container: Object, grace_period: int | None, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    for kind, check in _PROBES.items():
        if (probe := container.get(kind)) is not None:
            errors += check(probe, path.child(kind), grace_period)
    return errors


def validate_handler(probe: Object, path: Path, grace_period: int | None) -> list[FieldError]:
    return _validate_handler(probe, _PROBE_HANDLERS, grace_period, path)


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


def _validate_handler(
    handler: Object, kinds: dict[str, Check], grace_period: int | None, path: Path
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
            errors += check(action, path.child(kind), grace_period)
    if count == 0:
        errors.append(required(path, "must specify a handler type"))
    return errors


def _validate_sleep(action: Object, path: Path, grace_period: int | None) -> list[FieldError]:
    seconds = action.get("seconds", 0)
    # Without a valid grace period the real problem is reported elsewhere.
    if grace_period is None or 0 <= seconds <= grace_period:
        return []
    text = f"must be non-negative and less than terminationGracePeriodSeconds ({grace_period})"
    return [invalid(path, seconds, text)]


def validate_port(port: int | str, path: Path) -> list[FieldError]:
    return invalids(path, port, is_port_name(port) if isinstance(port, str) else is_port_number(port))


_PROBES: Final = {
    "livenessProbe": compiled_check("core.v1.Probe once"),
    "readinessProbe": compiled_check("core.v1.Probe readiness"),
    "startupProbe": compiled_check("core.v1.Probe once"),
}
_ACTIONS: Final[dict[str, Check]] = {
    "exec": compiled_check("core.v1.ExecAction"),
    "httpGet": compiled_check("core.v1.HTTPGetAction"),
    "tcpSocket": compiled_check("core.v1.TCPSocketAction"),
}
_PROBE_HANDLERS: Final = {**_ACTIONS, "grpc": compiled_check("core.v1.GRPCAction")}
_HOOK_HANDLERS: Final = {**_ACTIONS, "sleep": _validate_sleep}
