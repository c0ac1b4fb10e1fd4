"""controller-runtime's own suites, unchanged, on `steer up` in kube-apiserver's place.

They are told by `USE_EXISTING_CLUSTER`, and each is given a cluster of its own. What takes a minute is run where
`STEERSMAN_ALL_ORIGINALS` is set. Not run is `internal/controller`: given a cluster, it fails and hangs at the same
specs on the original.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess

import pytest

from tests.originals.programs import NOT_INSTALLED, ORIGINS, find, installed, module_folder
from tests.support.steer import running

_ORIGIN = next(origin for origin in ORIGINS if origin.name == "controller-runtime")
_PACKAGES = {
    "builder.test": "pkg/builder",
    "client.test": "pkg/client",
    "cluster.test": "pkg/cluster",
    "controller.test": "pkg/controller",
    "controller-controllerutil.test": "pkg/controller/controllerutil",
    "envtest.test": "pkg/envtest",
    "internal-recorder.test": "pkg/internal/recorder",
    "source.test": "pkg/source",
    "webhook.test": "pkg/webhook",
}
_LONG = {
    "cache.test": "pkg/cache",
    "manager.test": "pkg/manager",
}
#: Serves its metrics there, whoever else does.
_FIXED_PORT = {"internal-recorder.test": 8080}

ALL = bool(os.environ.get("STEERSMAN_ALL_ORIGINALS"))

pytestmark = [
    pytest.mark.slow,
    pytest.mark.original,
    pytest.mark.skipif(not installed(*_PACKAGES, *_LONG), reason=NOT_INSTALLED),
    pytest.mark.timeout(400),
]


@pytest.mark.parametrize("suite", [*_PACKAGES, *(_LONG if ALL else ())])
def test_their_suite_passes_on_our_cluster(suite: str) -> None:
    program = find(suite)
    assert program is not None
    port = _FIXED_PORT.get(suite)
    if port is not None and _is_taken(port):
        pytest.skip(f"something on this machine has port {port}, which this suite needs")
    folder = module_folder(_ORIGIN, _ORIGIN.module) / (_PACKAGES | _LONG)[suite]
    with running("--controllers", "none", "--nodes", "0") as steer:
        done = subprocess.run(
            [str(program), "-ginkgo.no-color"],
            cwd=folder,
            env={**os.environ, "KUBECONFIG": str(steer.kubeconfig), "USE_EXISTING_CLUSTER": "true"},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=350,
            check=False,
        )
    assert done.returncode == 0, (
        "\n".join(_failures(done.stdout)) or done.stdout[-4000:] + done.stderr[-2000:]
    )
    assert re.search(r"([1-9]\d*) Passed \| 0 Failed", done.stdout), done.stdout[-2000:]


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("0.0.0.0", port))
        except OSError:
            return True
    return False


def _failures(output: str) -> list[str]:
    return [found[1] for found in re.finditer(r"^ *\[FAIL\] (.*)$", output, re.MULTILINE)]
