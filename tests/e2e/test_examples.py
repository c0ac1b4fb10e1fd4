"""The numbered examples do what they say."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(example: str, path: str) -> list[str]:
    """The lines an example prints."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / example / "run.py")],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return [line.rstrip() for line in done.stdout.splitlines()]


def in_order(lines: list[str], *expected: str) -> bool:
    """Each expected text begins a line, one after the other."""
    rest = iter(lines)
    return all(any(line.startswith(text) for line in rest) for text in expected)


@pytest.mark.skipif(not shutil.which("kubectl"), reason="there is no kubectl on the PATH")
def test_first_look_with_kubectl(tmp_path: Path) -> None:
    lines = run("01-first-look", os.environ["PATH"])
    assert in_order(
        lines,
        "A Kubernetes cluster is up at https://127.0.0.1:",
        "$ kubectl apply -f ",
        "namespace/shop created",
        "configmap/settings created",
        "deployment.apps/web created",
        "service/web created",
        "$ kubectl -n shop rollout status deployment/web",
        'deployment "web" successfully rolled out',
        "$ kubectl -n shop get pods,services,endpointslices -o wide",
        "pod/web-",
        "service/web   ClusterIP",
        "endpointslice.discovery.k8s.io/web-",
        "$ kubectl -n shop scale deployment/web --replicas=5",
        "deployment.apps/web scaled",
        'deployment "web" successfully rolled out',
        "$ kubectl get nodes",
        "node-1   Ready",
        "$ kubectl explain deployment.spec.strategy.type",
        "GROUP:      apps",
        "FIELD: type <string>",
        "Stopped; nothing was kept.",
    ), "\n".join(lines)


def test_first_look_without_kubectl(tmp_path: Path) -> None:
    lines = run("01-first-look", str(tmp_path))
    assert in_order(
        lines,
        "A Kubernetes cluster is up at https://127.0.0.1:",
        "(no kubectl on the PATH: using the project's own client)",
        "created Namespace shop",
        "created ConfigMap settings",
        "created Deployment web",
        "created Service web",
        "pod web-",
        "Stopped; nothing was kept.",
    ), "\n".join(lines)


def test_a_plugin_of_the_scheduler() -> None:
    lines = run("07-scheduler-plugin", os.environ["PATH"])
    assert in_order(
        lines,
        "an hour of node-2 costs 10 cents",
        "any is on node-2",
        "next is on node-3",
        "poor waits: 0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) were too expensive.",
        "poor is on node-1",
        "Stopped; nothing was kept.",
    ), "\n".join(lines)
