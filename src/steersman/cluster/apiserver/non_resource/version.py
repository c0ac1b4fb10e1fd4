"""/version: which Kubernetes this server implements."""

from __future__ import annotations

import platform

import orjson

from steersman.cluster.apiserver.responses.render import respond_json
from steersman.cluster.codec.negotiate import JSON, is_routed
from steersman.cluster.schema.version import KUBERNETES_VERSION
from steersman.http import Request, Response
from steersman.objects.status import not_acceptable

__all__ = ["serve_version"]


def serve_version(request: Request) -> Response:
    """Raises 406."""
    if not is_routed(request.headers.get("accept") or "", formats=(JSON,)):
        raise not_acceptable((JSON,))
    return respond_json(orjson.dumps(_version(), option=orjson.OPT_INDENT_2))


def _version() -> dict[str, str]:
    major, minor, _ = KUBERNETES_VERSION.split(".")
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": f"v{KUBERNETES_VERSION}+steersman",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": platform.python_implementation(),
        "platform": f"linux/{'amd64' if platform.machine() == 'x86_64' else platform.machine()}",
    }
