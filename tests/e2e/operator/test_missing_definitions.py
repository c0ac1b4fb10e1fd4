"""Operators whose custom resource is not defined yet: they say how to define it, and go on when it is."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.operator.operators import running, until
from tests.support.steer import DEADLINE_S, STEER, Steer
from tests.support.steer import running as cluster

pytestmark = pytest.mark.slow

MODULE = """
from steersman.objects.custom import CustomResource, Model
from steersman.operator import Context, Operator

class Tea(CustomResource, group="example.com", version="v1"):
    spec: Model

op = Operator(Tea)

@op.reconcile
async def reconcile(ctx: Context[Tea]) -> None:
    print(f"reconciled {ctx.name}", flush=True)

if __name__ == "__main__":
    op.run()
"""
TEA = {"apiVersion": "example.com/v1", "kind": "Tea", "metadata": {"name": "green"}, "spec": {}}
HINT = r"to serve teas\.v1\.example\.com; .*definition teas\.example\.com: (steer crd \S+) \| kubectl"


@pytest.fixture
def server() -> Iterator[Steer]:
    with cluster("--controllers", "none") as server:
        yield server


@pytest.fixture
def module(tmp_path: Path) -> Path:
    (tmp_path / "tea.py").write_text(MODULE)
    return tmp_path / "tea.py"


def define(server: Steer, words: str, folder: Path) -> None:
    """As it is said."""
    command = [str(STEER), *shlex.split(words)[1:], "--output", "json"]
    printed = subprocess.run(command, capture_output=True, check=True, cwd=folder, timeout=DEADLINE_S)
    (definition,) = json.loads(printed.stdout)["items"]
    made = server.api.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    assert made.status == 201, made.text


def create(server: Steer) -> bool:
    return server.api.post("/apis/example.com/v1/namespaces/default/teas", TEA).status == 201


def test_steer_run_waits_for_its_definition(server: Steer, module: Path, tmp_path: Path) -> None:
    with running(module, server.kubeconfig, tmp_path / "log") as operator:
        hint = until(lambda: operator.alive and operator.said(HINT), "the hint")
        assert len([line for line in operator.lines if re.search(HINT, line["message"])]) == 1
        define(server, hint[1], Path.cwd())
        until(lambda: create(server), "a tea")
        until(lambda: operator.alive and operator.said("the API serves teas"), "the end of waiting")
        assert operator.stop() == 0


def test_a_program_of_its_own_waits_for_its_definition(server: Steer, module: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "KUBECONFIG": str(server.kubeconfig), "STEERSMAN_METRICS_BIND": "off"}
    log = tmp_path / "log"
    with log.open("wb") as written:
        process = subprocess.Popen(
            [sys.executable, module.name], stdout=written, stderr=written, cwd=tmp_path, env=environment
        )
    try:
        hint = until(lambda: re.search(HINT, log.read_text()), "the hint")
        assert hint[1] == "steer crd tea.py"
        define(server, hint[1], tmp_path)
        until(lambda: create(server), "a tea")
        until(lambda: "reconciled green" in log.read_text(), "a reconcile")
        process.terminate()
        assert process.wait(DEADLINE_S) == 0
    finally:
        process.kill()
        process.wait()


def test_a_program_without_a_cluster_says_so_in_a_line(module: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "KUBECONFIG": str(tmp_path / "nowhere")}
    done = subprocess.run(
        [sys.executable, module.name], capture_output=True, text=True, cwd=tmp_path, env=environment
    )
    assert done.returncode == 1
    assert done.stderr == f"{tmp_path}/nowhere: there is no such kubeconfig\n"
