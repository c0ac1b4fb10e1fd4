"""Promises about ways to pods that lead through the API server or the node."""

from __future__ import annotations

import asyncio
import ssl
from itertools import product
from typing import Any

import orjson
import pytest

from steersman.client import ApiError
from steersman.cluster.auth.pki import Authority
from steersman.objects.resources import DEPLOYMENTS, PODS, SECRETS, SERVICES
from steersman.testing import eventually

from .running import NAMESPACE, PATIENCE_S, Object, Running, can_serve, promise

pytestmark = pytest.mark.skipif(not can_serve(), reason="needs rights to listen at low ports")

#: Serves what variables such as SERVE_PORT_80 and SERVE_TLS_PORT_443 say, for each its own port.
_PORTER = """
import http.server, json, os, ssl, sys, threading
class Answer(http.server.BaseHTTPRequestHandler):
    def answer(self):
        body = self.server.text
        if sys.argv[1:] == ["--json"]:
            body = json.dumps({"Method": self.command, "Body": body, "Path": self.path})
        body = body.encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json" if sys.argv[1:] else "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = answer
    def log_message(self, *_): pass
for name, text in os.environ.items():
    if not name.startswith("SERVE_"):
        continue
    server = http.server.ThreadingHTTPServer((os.environ["POD_IP"], int(name.rpartition("_")[2])), Answer)
    server.text = text
    if "TLS" in name:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain("/keys/tls.crt", "/keys/tls.key")
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever).start()
"""


def porter(serves: dict[str, str], *arguments: str, ready: int = 80, **fields: Any) -> Object:
    address = {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    variables = [{"name": f"SERVE_{name}", "value": text} for name, text in serves.items()]
    return {
        "name": "main",
        "image": "host/python3",
        "args": ["-c", _PORTER, *arguments],
        "env": [address, *variables],
        "readinessProbe": {"tcpSocket": {"port": ready}, "periodSeconds": 1},
        **fields,
    }


# --- through a service and a pod


@promise("Proxy version v1 should proxy through a service and a pod")
async def test_services_and_pods_by_every_port(running: Running) -> None:
    key_pair = Authority.make("porter").issue("porter", hosts=("porter",))
    raise AssertionError(key_pair)
