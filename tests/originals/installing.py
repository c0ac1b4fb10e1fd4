"""Building the original programs with their own languages' package clients.

A program is built under another name and then renamed, so what has its name is whole. Output of the compilers
is shown only when they fail.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.originals.programs import ABSENT, Origin, Program

__all__ = ["Failed", "bump", "install"]

_TOOLS: Final = {
    "go": ("go", "a Go toolchain (Debian's golang-go is enough if it is not older than go.mod asks for)"),
    "rust": ("cargo", "a Rust toolchain (Debian's cargo)"),
}


class Failed(Exception):
    """Something could not be installed, and why."""


def install(wanted: Sequence[tuple[Origin, Program]]) -> int:
    """Build what is not there yet; say what is done. The exit code: 1 if something could not be had."""
    missing = [(origin, program) for origin, program in wanted if not _target(origin, program).exists()]
    print(f"{len(wanted) - len(missing)} of {len(wanted)} programs are installed already", flush=True)
    lacking: dict[str, str] = {}
    failed = 0
    for number, (origin, program) in enumerate(missing, 1):
        tool, needs = _TOOLS[origin.language]
        if shutil.which(tool) is None:
            lacking[origin.name] = needs
            continue
        print(
            f"[{number}/{len(missing)}] {origin.name} {origin.version}: {program.name} …", end="", flush=True
        )
        started = time.monotonic()
        try:
            size = _build(origin, program)
        except Failed as error:
            failed += 1
            print(f" failed\n{error}", flush=True)
            continue
        print(f" {time.monotonic() - started:.0f} s, {size >> 20} MB", flush=True)
    for name, needs in lacking.items():
        print(f"{name}: not installed, it needs {needs}; its tests are skipped, all others work")
    for name, why in ABSENT.items():
        print(f"{name}: not to be had, {why}")
    if wanted:
        print(f"They are in {wanted[0][0].installed_in.parent}")
    return 1 if failed else 0


def bump(origin: Origin, version: str) -> None:
    """Have the origin's files name another version, with all that belongs to it."""
    if origin.language == "rust":
        _run(["cargo", "add", f"{origin.module}@={version}"], origin.folder)
        _run(["cargo", "update"], origin.folder)
    else:
        for each in _staging(origin, version):
            _run(["go", "mod", "edit", f"-replace={each}"], origin.folder)
        packages = [program.package for program in origin.programs]
        tests = ["-t"] if any(program.is_tests for program in origin.programs) else []
        _run(["go", "get", *tests, *(f"{package}@v{version}" for package in packages)], origin.folder)
    print(f"{origin.folder.name} is {origin.version} now; commit what has changed, then make originals")


def _staging(origin: Origin, version: str) -> list[str]:
    """Kubernetes replaces its staging modules by folders of its repository, which a module cannot: their
    published versions, for those that go.mod replaces already."""
    fitting = f"v0.{version.split('.', 1)[1]}"
    lines = (origin.folder / "go.mod").read_text().splitlines()
    names = [line.split("=>")[0].strip() for line in lines if "=> k8s.io/" in line]
    return [f"{name}={name}@{fitting}" for name in names]


def _target(origin: Origin, program: Program) -> Path:
    return origin.installed_in / program.name


def _build(origin: Origin, program: Program) -> int:
    """Its size. Raises `Failed`."""
    target = _target(origin, program)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        if origin.language == "rust":
            _build_rust(origin, program, partial)
        else:
            _build_go(origin, program, partial)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return target.stat().st_size


def _build_go(origin: Origin, program: Program, target: Path) -> None:
    what = ["test", "-c"] if program.is_tests else ["build"]
    settings = " ".join(("-s -w", *origin.link_settings))
    command = ["go", *what, "-mod=readonly", "-buildvcs=false", f"-ldflags={settings}"]
    _run([*command, "-o", str(target), program.package], origin.folder, CGO_ENABLED="0")


def _build_rust(origin: Origin, program: Program, target: Path) -> None:
    built = origin.installed_in.parent / "cargo"
    _run(["cargo", "build", "--release", "--locked", "--target-dir", str(built)], origin.folder)
    shutil.copy2(built / "release" / program.name, target)


def _run(command: Sequence[str], folder: Path, **environment: str) -> None:
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
    )  # fmt: skip
    if done.returncode:
        last = "\n".join(f"    {line}" for line in done.stdout.splitlines()[-15:])
        raise Failed(f"{' '.join(command[:3])} … in {folder.name} ended with {done.returncode}:\n{last}")
    if sys.flags.verbose:
        print(done.stdout)
