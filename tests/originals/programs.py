"""Which programs there are, and where they lie once they are installed.

Each origin is a folder beside this file with what its language's package client needs: `go.mod` and `go.sum`,
or `Cargo.toml` and `Cargo.lock`. The version that is named there is the only place that says it. Installed
programs are in `$STEERSMAN_ORIGINALS`, else in `steersman/originals` of the user's cache, in a folder for each
version, so that another version never takes the place of one that a running test uses.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = [
    "ABSENT",
    "NOT_INSTALLED",
    "ORIGINS",
    "Data",
    "Origin",
    "Program",
    "cache_folder",
    "find",
    "find_data",
    "installed",
    "module_folder",
]

_HERE: Final = Path(__file__).parent

#: Why a test that needs them is skipped: the same words for all.
NOT_INSTALLED: Final = "the original programs are not installed (make originals)"

#: What users of this project might use otherwise and no registry has, with the reason.
ABSENT: Final = {
    "k8-highlander": "the Go module proxy does not have its module",
}


@dataclass(frozen=True, slots=True)
class Program:
    """What is built of one package."""

    name: str
    package: str
    #: The tests of the package, as a program that runs them.
    is_tests: bool = False


@dataclass(frozen=True, slots=True)
class Data:
    """Files of a module that tests read."""

    name: str
    module: str
    #: Names, and the module's folders.
    folders: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Origin:
    """Programs of one module or crate, in one version."""

    name: str
    #: The module or crate whose version is the origin's.
    module: str
    programs: tuple[Program, ...]
    #: Settings of the linker that tell a program its version; `{version}`, `{major}`, `{minor}` are filled in.
    link: tuple[str, ...] = ()
    data: tuple[Data, ...] = ()

    @property
    def folder(self) -> Path:
        return _HERE / self.name

    @property
    def language(self) -> str:
        return "rust" if (self.folder / "Cargo.toml").exists() else "go"

    @property
    def version(self) -> str:
        """Without a `v` in front."""
        if self.language == "rust":
            text, pattern = (self.folder / "Cargo.toml").read_text(), rf'^{self.module} = .*?"=?([\d.]+)"'
        else:
            text, pattern = (self.folder / "go.mod").read_text(), rf"^\s*{re.escape(self.module)} v(\S+)"
        found = re.search(pattern, text, re.MULTILINE)
        assert found, f"{self.folder} names no version of {self.module}"
        return found[1]

    @property
    def installed_in(self) -> Path:
        return cache_folder() / f"{self.name}-{self.version}"

    @property
    def link_settings(self) -> Sequence[str]:
        major, minor = self.version.split(".")[:2]
        return [each.format(version=self.version, major=major, minor=minor) for each in self.link]


def _kubernetes(*names: str) -> tuple[Program, ...]:
    return tuple(Program(name, f"k8s.io/kubernetes/cmd/{name}") for name in names)


def _versions(package: str) -> tuple[str, ...]:
    """Built from a module, Kubernetes' programs do not know which version they are."""
    return (
        f"-X {package}.gitVersion=v{{version}}",
        f"-X {package}.gitMajor={{major}}",
        f"-X {package}.gitMinor={{minor}}",
        f"-X {package}.gitTreeState=clean",
    )


_CONTROLLER_RUNTIME: Final = "sigs.k8s.io/controller-runtime"

ORIGINS: Final = (
    Origin(
        "etcd",
        "go.etcd.io/etcd/server/v3",
        (
            Program("etcd", "go.etcd.io/etcd/server/v3"),
            Program("etcdctl", "go.etcd.io/etcd/etcdctl/v3"),
            Program("etcdutl", "go.etcd.io/etcd/etcdutl/v3"),
        ),
        data=(
            Data(
                "raft-cases",
                "go.etcd.io/raft/v3",
                (("confchange", "confchange/testdata"), ("quorum", "quorum/testdata")),
            ),
        ),
    ),
    Origin(
        "kubernetes",
        "k8s.io/kubernetes",
        (
            *_kubernetes(
                "kube-apiserver", "kubectl", "kube-controller-manager", "kube-scheduler", "kubelet",
                "kube-proxy", "kubemark",
            ),
            Program("e2e.test", "k8s.io/kubernetes/test/e2e", is_tests=True),
        ),
        (*_versions("k8s.io/component-base/version"), *_versions("k8s.io/client-go/pkg/version")),
    ),
    Origin(
        "controller-runtime",
        _CONTROLLER_RUNTIME,
        tuple(
            Program(f"{name.replace('/', '-')}.test", f"{_CONTROLLER_RUNTIME}/pkg/{name}", is_tests=True)
            for name in (
                "builder", "cache", "client", "cluster", "controller", "controller/controllerutil", "envtest",
                "internal/recorder", "manager", "source", "webhook",
            )
        ),
    ),
    Origin("k8s-operator", "k8s-operator", (Program("small-operator", "small-operator"),)),
)  # fmt: skip


def cache_folder() -> Path:
    if named := os.environ.get("STEERSMAN_ORIGINALS"):
        return Path(named).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().absolute() / "steersman" / "originals"


def find(name: str) -> Path | None:
    """The installed program of this name."""
    for origin in ORIGINS:
        if any(program.name == name for program in origin.programs):
            file = origin.installed_in / name
            return file if file.exists() else None
    raise KeyError(name)


def installed(*names: str) -> bool:
    return all(find(name) is not None for name in names)


def find_data(name: str) -> Path | None:
    """The installed folder of this name."""
    origin = next(origin for origin in ORIGINS if name in [data.name for data in origin.data])
    folder = origin.installed_in / name
    return folder if folder.exists() else None


def module_folder(origin: Origin, module: str) -> Path:
    """Where Go's package client keeps a module in the version that an origin needs."""
    command = ["go", "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", module]
    done = subprocess.run(command, cwd=origin.folder, capture_output=True, text=True, check=True)
    return Path(done.stdout.strip())
