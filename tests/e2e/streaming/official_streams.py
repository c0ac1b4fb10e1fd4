"""A program: commands, logs and a port of a pod through the official client, told as JSON.

It is run by itself because the client leaves its sockets open.
"""

# The client's configuration and streams have no types.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import json
import sys

from kubernetes import client, config
from kubernetes.stream import portforward, stream

PATIENCE_S = 60.0


def main(kubeconfig: str, namespace: str, pod: str) -> None:
    core = client.CoreV1Api(config.new_client_from_config(kubeconfig))
    execute = core.connect_get_namespaced_pod_exec
    both = ["sh", "-c", "echo out; echo err >&2"]
    said = stream(execute, pod, namespace, command=both, stdout=True, stderr=True)
    asking = ["sh", "-c", "read x; echo got $x; exit 6"]
    streams = {"stdin": True, "stdout": True, "stderr": True, "_preload_content": False}
    process = stream(execute, pod, namespace, command=asking, **streams)
    process.write_stdin("this\n")
    process.run_forever(timeout=PATIENCE_S)
    forward = portforward(core.connect_get_namespaced_pod_portforward, pod, namespace, ports="8080")
    connection = forward.socket(8080)
    connection.setblocking(True)
    connection.sendall(b"quiet")
    answer = connection.recv(100).decode()
    told = {
        "said": sorted(said.split()),
        "answered": process.read_stdout(),
        "code": process.returncode,
        "port": answer,
        "log": core.read_namespaced_pod_log(pod, namespace),
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
