"""The README's cluster and the tutorial's operator, typed as they stand there by who has just installed them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.integration.docs.pages import DOCS, README, blocks, commands, files
from tests.support.outside import Project, environment
from tests.support.waiting import soon

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not shutil.which("kubectl"), reason="no kubectl")]

TUTORIAL = DOCS / "start" / "tutorial.md"
#: Nothing takes this long; what does hangs.
DEADLINE_S = 60.0


@pytest.fixture
def project(tmp_path: Path) -> Project:
    folder = tmp_path / "project"
    folder.mkdir()
    python = environment(tmp_path / "venv", "steersman[cluster]")
    return Project(folder, python, {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")})


@contextmanager
def terminal(project: Project, *command: str) -> Iterator[Iterator[str]]:
    """A command that runs on, and its lines; Ctrl-C ends it, in order."""
    process = subprocess.Popen(
        command,
        cwd=project.folder,
        env=project.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield iter(process.stdout)
        process.send_signal(2)
        said = process.communicate(timeout=DEADLINE_S)[0]
        assert process.returncode == 0, said
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def told(lines: Iterator[str], pattern: str) -> str:
    """What a line says, once it comes."""
    seen = []
    for line in lines:
        seen.append(line)
        if found := re.search(pattern, line):
            return found[1]
    raise AssertionError("".join(seen))


def typed(project: Project, *lines: str) -> str:
    """What the commands print, all of which have to succeed."""
    done = project.run("bash", "-euc", "\n".join(lines))
    assert done.returncode == 0, done.stdout
    return done.stdout


def until(condition: Callable[[], bool]) -> None:
    soon(condition, DEADLINE_S)


def test_the_readmes_cluster_answers(project: Project) -> None:
    said = list(commands(README))
    create, expose, get, curl = said[said.index("steer up") + 1 :][:4]
    with terminal(project, "steer", "up", "--port", "0", "--output", "json") as lines:
        kubeconfig = json.loads(next(lines))["kubeconfig"]
        reader = project.having(KUBECONFIG=kubeconfig)
        typed(reader, create, expose, "kubectl rollout status deployment web --timeout=60s")
        shown = typed(reader, get)
        assert len(re.findall(r"^pod/web-\S+ +1/1 +Running", shown, re.M)) == 2, shown
        assert re.search(r"^service/web +ClusterIP .* 80/TCP", shown, re.M), shown
        assert "Directory listing" in typed(reader, curl)


def test_the_tutorials_operator_puts_right_what_is_broken(project: Project) -> None:
    shop = next(block for block in blocks(TUTORIAL, "yaml") if block.code.startswith("# shop.yaml"))
    project.write({"webapp.py": files(TUTORIAL)["webapp"], "shop.yaml": shop.code})
    said = list(commands(TUTORIAL))
    run = said[said.index("steer run webapp.py --cluster")]
    apply, wait, get, delete, scale, patch, refused = [each for each in said if each.startswith("kubectl ")]
    with terminal(project, *run.split(), "--metrics-bind", "off") as lines:
        reader = project.having(KUBECONFIG=told(lines, r"export KUBECONFIG=(\S+)"))
        uid = "kubectl get deployment shop -o jsonpath='{.metadata.uid}'"
        replicas = "kubectl get deployment shop -o jsonpath='{.spec.replicas}'"
        until(lambda: reader.run("bash", "-euc", "kubectl get webapps").returncode == 0)
        typed(reader, apply, f"{wait} --timeout=60s")
        shown = typed(reader, get)
        assert len(re.findall(r"^pod/shop-\S+ +1/1 +Running", shown, re.M)) == 3, shown
        before = typed(reader, uid)
        typed(reader, delete)
        until(
            lambda: reader.run("bash", "-euc", uid).stdout.strip() not in ("", before) and found(reader, uid)
        )
        typed(reader, scale)
        until(lambda: typed(reader, replicas) == "3")
        typed(reader, patch)
        until(lambda: typed(reader, replicas) == "5")
        done = reader.run("bash", "-c", refused)
        assert done.returncode == 1
        assert "should be less than or equal to 50" in done.stdout


def found(reader: Project, command: str) -> bool:
    return reader.run("bash", "-euc", command).returncode == 0
