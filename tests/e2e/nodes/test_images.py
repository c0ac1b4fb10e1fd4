"""Images of a process node as people use them with kubectl: programs of this machine, and folders."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.kubectl import Kubectl
from tests.support.steer import DEADLINE_S, running

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


def until(what: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + DEADLINE_S
    while not (found := what()):
        assert time.monotonic() < deadline, f"not in time: {what}"
        time.sleep(0.1)
    return found


@dataclass(frozen=True, slots=True)
class World:
    kubectl: Kubectl
    #: For `steer image`, where the cluster looks.
    state: Path

    def run(self, name: str, image: str, *arguments: str) -> str:
        """What a pod says that `kubectl run` starts with these arguments, once it has ended well."""
        self.kubectl("run", name, f"--image={image}", "--restart=Never", "--", *arguments)
        self.kubectl(
            "wait", "--for=jsonpath={.status.phase}=Succeeded", f"pod/{name}", f"--timeout={DEADLINE_S:g}s"
        )
        return self.kubectl("logs", name).out


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    if not shutil.which("kubectl"):
        pytest.skip("there is no kubectl on the PATH")
    folder = tmp_path_factory.mktemp("world")
    # Where the data is stays true in every process, whatever folder each of them works in.
    prefix = ["env", f"--chdir={folder}", f"XDG_STATE_HOME={folder / 'state'}"]
    with running("--nodes=1", "--runtime=process", data="some/data", prefix=prefix) as steer:
        assert steer.kubeconfig == folder / "some/data/kubeconfig"
        kubectl = Kubectl(steer.kubeconfig, tmp_path_factory.mktemp("home"))
        kubectl("wait", "--for=create", "serviceaccount/default", f"--timeout={DEADLINE_S:g}s")
        yield World(kubectl, folder / "state")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("named", ("sh", "-c", "echo hi")),
        ("by-path", ("/bin/sh", "-c", "echo hi")),
        ("own", ("-c", "echo hi")),
    ],
)
def test_a_program_takes_arguments_with_its_own_name_and_without(
    world: World, name: str, arguments: tuple[str, ...]
) -> None:
    assert world.run(name, "host/sh", *arguments) == "hi\n"


def test_a_server_is_run_as_people_write_it(world: World) -> None:
    kubectl = world.kubectl
    kubectl(
        "run", "server", "--image=host/python3", "--",
        "python3", "-u", "-m", "http.server", "--bind", "$(POD_IP)", "8080",
    )  # fmt: skip
    kubectl("wait", "--for=condition=Ready", "pod/server", f"--timeout={DEADLINE_S:g}s")
    until(lambda: "Serving HTTP on" in kubectl("logs", "server").out)
