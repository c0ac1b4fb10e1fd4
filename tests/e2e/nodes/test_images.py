"""Images of a process node as people use them with kubectl: programs of this machine, and folders."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.kubectl import WAIT, Kubectl
from tests.support.normal_user import as_normal_user
from tests.support.small_root import USER, small_root
from tests.support.steer import DEADLINE_S, STEER, running
from tests.support.waiting import soon

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


def until(what: Callable[[], Any]) -> Any:
    return soon(what, DEADLINE_S, every_s=0.1)


@dataclass(frozen=True, slots=True)
class World:
    kubectl: Kubectl
    #: What makes a command that of the cluster's user.
    prefix: list[str]
    folder: Path

    def add(self, name: str, folder: Path, *options: str) -> str:
        done = subprocess.run(
            [*self.prefix, str(STEER), "image", "add", name, str(folder), *options],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stderr == "", "nobody watches, so nothing is shown"
        return done.stdout

    def run(self, name: str, image: str, *arguments: str) -> str:
        """What a pod says that `kubectl run` starts with these arguments, once it has ended well."""
        self.kubectl("run", name, f"--image={image}", "--restart=Never", "--", *arguments)
        self.kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", f"pod/{name}", WAIT)
        return self.kubectl("logs", name).out

    def has_roots(self) -> bool:
        """Whether the machine gives pods of this user files of their own."""
        return "Kubernetes-managed" in self.run("looks", "host/cat", "/etc/hosts")


@pytest.fixture(scope="module", params=["root", "a normal user"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    if not shutil.which("kubectl"):
        pytest.skip("there is no kubectl on the PATH")
    if request.param == "root" and os.geteuid() != 0:
        pytest.skip("this user is not root")
    # Folders of pytest are closed to others.
    with tempfile.TemporaryDirectory(prefix="steersman-images-") as name:
        folder = Path(name)
        user = as_normal_user(folder) if request.param != "root" else []
        # Where the data is stays true in every process, whatever folder each of them works in.
        prefix = [*user, "env", f"--chdir={folder}", f"XDG_STATE_HOME={folder / 'state'}"]
        with running("--nodes=1", "--runtime=process", data="some/data", prefix=prefix) as steer:
            assert steer.kubeconfig == folder / "some/data/kubeconfig"
            kubectl = Kubectl(steer.kubeconfig, tmp_path_factory.mktemp("home"))
            kubectl("wait", "--for=create", "serviceaccount/default", WAIT)
            yield World(kubectl, prefix, folder)


@pytest.fixture(scope="module")
def system(world: World) -> str:
    """An image that is the root of a system."""
    if not world.has_roots():
        pytest.skip("this machine gives pods of this user no files of their own")
    root = small_root(world.folder / "small", "cat", "ls")
    world.add("small:1", root)
    return "small:1"


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
    kubectl("wait", "--for=condition=Ready", "pod/server", WAIT)
    until(lambda: "Serving HTTP on" in kubectl("logs", "server").out)


def test_the_root_of_a_system_is_all_that_its_programs_see(world: World, system: str) -> None:
    script = """
        python3; echo $PATH; cat /etc/os-release
        ls -d /usr/bin/env /home 2> /dev/null
        ls -d /proc/self /dev/null
    """
    said = world.run("system", system, "sh", "-c", script)
    assert said.splitlines() == [
        "the small one",
        "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        'NAME="Small"',
        "/dev/null",
        "/proc/self",
    ]


def test_a_systems_files_stay_as_they_are(world: World, system: str) -> None:
    assert world.run("hosts", system, "cat", "/etc/hosts").startswith("# Kubernetes-managed")
    assert not (world.folder / "small/etc/hosts").exists()


def test_an_image_is_run_as_was_said_when_it_was_added(world: World, system: str) -> None:
    world.add(
        "small:set", world.folder / "small",
        "--command", "sh -c", "--args", "'echo $GREETING in $(pwd)'", "--env", "GREETING=hello there",
        "--workdir", "/etc",
    )  # fmt: skip
    assert world.run("set", "small:set") == "hello there in /etc\n"


def test_users_and_groups_are_those_of_the_image(world: World, system: str) -> None:
    if world.prefix[0] == "setpriv" or os.geteuid() != 0:
        pytest.skip("only root may run programs as others")
    world.add("small:user", world.folder / "small", "--user", USER)
    said = world.run("user", "small:user", "sh", "-c", "id -u; id -G; echo $HOME")
    assert said.splitlines() == ["51234", "51235 51236", "/srv/worker"]
    world.add("small:group", world.folder / "small", "--user", "7:helpers")
    assert world.run("group", "small:group", "sh", "-c", "id -u; id -g").split() == ["7", "51236"]


def test_programs_of_some_files_come_before_the_machines(world: World) -> None:
    program = world.folder / "files/usr/bin/python3"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho that of the image; ls -d /etc/passwd\n")
    program.chmod(0o755)
    world.add("files:1", world.folder / "files")
    assert world.run("files", "files:1", "python3") == "that of the image\n/etc/passwd\n"
