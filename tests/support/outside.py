"""A project as its users have it: outside of this repository, with only what they have installed.

The environment is made of the packages that the tests run with, and only of those that the named requirements
bring: what Steersman uses and does not ask for is missed here as it would be there. Nothing is downloaded.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

import steersman
from tests.support.ending import MARK

__all__ = ["Project", "environment"]

#: Nothing takes this long; what does hangs.
DEADLINE_S = 300.0


@dataclass(frozen=True)
class Project:
    """A folder, and the interpreter it is run with."""

    folder: Path
    python: Path
    variables: Mapping[str, str] = field(default_factory=dict)

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    @property
    def environment(self) -> Mapping[str, str]:
        """Nothing of the tests' own gets in but the mark by which what they start is ended (`ending`)."""
        kept = {name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR", MARK) if name in os.environ}
        path = f"{self.python.parent}{os.pathsep}{os.environ['PATH']}"
        return {**kept, "PATH": path, **self.variables}

    def having(self, **variables: str) -> Project:
        """The same, with more in its environment."""
        return replace(self, variables={**self.variables, **variables})

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """What a command prints, both its streams together; programs of the environment come first."""
        return subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )

    def pytest(self, *options: str) -> str:
        """The output of `python -m pytest`, which has to succeed; a warning is an error."""
        done = self.run("python", "-m", "pytest", "-W", "error", *options)
        assert done.returncode == 0, done.stdout
        return done.stdout


def environment(folder: Path, *requirements: str) -> Path:
    """A new environment with what `pip install REQUIREMENTS` would bring; its interpreter."""
    venv.create(folder, with_pip=False, symlinks=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = folder / "lib" / version / "site-packages"
    python = folder / "bin" / "python"
    for found in _closure(requirements):
        _link(found, packages)
        _add_commands(found, python)
    return python


def _closure(requirements: tuple[str, ...]) -> Iterator[Distribution]:
    seen: set[tuple[str, str]] = set()
    given: set[str] = set()
    waiting = [Requirement(each) for each in requirements]
    while waiting:
        wanted = waiting.pop()
        found = distribution(wanted.name)
        if found.name not in given:
            given.add(found.name)
            yield found
        for extra in ("", *wanted.extras):
            if (found.name, extra) in seen:
                continue
            seen.add((found.name, extra))
            needed = [Requirement(each) for each in found.requires or ()]
            waiting += [each for each in needed if not each.marker or each.marker.evaluate({"extra": extra})]


def _link(found: Distribution, packages: Path) -> None:
    if found.name == "steersman":
        # It is here as a folder of sources, which a path file names.
        (packages / "steersman").symlink_to(Path(steersman.__file__).parent)
    for name in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
        source, target = Path(str(found.locate_file(name))), packages / name
        if not target.exists() and source.suffix != ".pth":
            target.symlink_to(source)


def _add_commands(found: Distribution, python: Path) -> None:
    for entry in found.entry_points.select(group="console_scripts"):
        command = python.with_name(entry.name)
        command.write_text(
            f"#!{python}\nimport sys\nfrom {entry.module} import {entry.attr}\nsys.exit({entry.attr}())\n"
        )
        command.chmod(0o755)
