"""Commands, logs and ports of pods with the official Python client."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.kubectl import WAIT, Kubectl
from tests.support.steer import DEADLINE_S

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).with_name("official_streams.py")
SHOUT = """
import os, socketserver
class Shout(socketserver.BaseRequestHandler):
    def handle(self):
        while data := self.request.recv(65536):
            self.request.sendall(data.upper())
server = socketserver.ThreadingTCPServer((os.environ["POD_IP"], 8080), Shout)
print("here", flush=True)
server.serve_forever()
"""


def test_commands_logs_and_ports(kubectl: Kubectl) -> None:
    address = {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    container = {
        "name": "c",
        "image": "host/python3",
        "args": ["-c", SHOUT],
        "env": [address],
        "readinessProbe": {"tcpSocket": {"port": 8080}, "periodSeconds": 1},
    }
    spec = {"containers": [container], "terminationGracePeriodSeconds": 0}
    kubectl("wait", "--for=create", "serviceaccount/default", WAIT)
    kubectl.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
    kubectl("wait", "--for=condition=Ready", "pod/p", WAIT)
    program = [sys.executable, str(PROGRAM), str(kubectl.kubeconfig), kubectl.namespace, "p"]
    done = subprocess.run(program, capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "said": ["err", "out"],
        "answered": "got this\n",
        "code": 6,
        "port": "QUIET",
        "log": "here\n",
    }
