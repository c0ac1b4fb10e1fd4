"""Probes and hooks of containers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Object = dict[str, Any]
Errors = Callable[[Object], list[str]]

CONTAINER = {
    "name": "c",
    "image": "nginx",
    "resources": {},
    "terminationMessagePolicy": "File",
    "imagePullPolicy": "Always",
}


def probe(**handler: Any) -> Object:
    settings = {"successThreshold": 1, "periodSeconds": 10, **handler}
    return {"containers": [{**CONTAINER, "livenessProbe": settings}]}


def http(**action: Any) -> Object:
    return probe(httpGet={"path": "/", "port": 80, "scheme": "HTTP", **action})


def stopping(signal: str, system: str = "") -> Object:
    named = {"os": {"name": system}} if system else {}
    return {**named, "containers": [{**CONTAINER, "lifecycle": {"stopSignal": signal}}]}


CASES: dict[str, tuple[Object, list[str]]] = {
    "http": (http(protocol="HTTP1"), []),
    "http 2": (http(protocol="HTTP2"), []),
    "http 2 with encryption": (
        http(protocol="HTTP2", scheme="HTTPS"),
        [
            'containers[0].livenessProbe.httpGet.protocol: Invalid value: "HTTP2": is only '
            "supported with HTTP (H2C)",
        ],
    ),
    "http 2 of another host": (
        http(protocol="HTTP2", host="h"),
        [
            'containers[0].livenessProbe.httpGet.host: Invalid value: "h": must be empty when '
            '`protocol` is "HTTP2"',
        ],
    ),
    "http 1 with encryption": (http(protocol="HTTP1", scheme="HTTPS"), []),
    "http 9": (
        http(protocol="HTTP9"),
        [
            'containers[0].livenessProbe.httpGet.protocol: Unsupported value: "HTTP9": '
            'supported values: "HTTP1", "HTTP2"',
        ],
    ),
    "grpc": (probe(grpc={"port": 80, "mode": "TLS"}), []),
    "grpc in another mode": (
        probe(grpc={"port": 80, "mode": "Odd"}),
        [
            'containers[0].livenessProbe.grpc.mode: Unsupported value: "Odd": supported '
            'values: "Plaintext", "TLS"',
        ],
    ),
    "grpc of no mode": (probe(grpc={"port": 80}), []),
    "signal": (stopping("SIGUSR1", "linux"), []),
    "signal of no system": (
        stopping("SIGUSR1"),
        [
            "containers[0].lifecycle.stopSignal: Forbidden: may not be set for containers "
            "with empty `spec.os.name`",
        ],
    ),
    "signal of another system": (
        stopping("SIGUSR1", "windows"),
        [
            'containers[0].lifecycle.stopSignal: Unsupported value: "SIGUSR1": supported '
            'values: "SIGKILL", "SIGTERM"',
        ],
    ),
    "signal of windows": (stopping("SIGTERM", "windows"), []),
}


@pytest.mark.parametrize(("spec", "expected"), CASES.values(), ids=CASES)
def test_a_probe_or_hook_is_judged(spec_errors: Errors, spec: Object, expected: list[str]) -> None:
    assert spec_errors(spec) == expected
