"""Makes Python's types of Kubernetes' kinds: enumerations, dictionaries, views.

Kubernetes' types are described in four files: the schema table (made from the published OpenAPI definitions),
wire.txt (which fields are pointers), enums.txt (which values a string can have) and views.txt (which fields
our readers look at). What Python has to know of them is made from these, so that a field's name is written
once and a wrong one is an error of the build or of mypy:

  enums.py           `PodPhase = Literal["Failed", …]`: the values of string fields
  types/core_v1.py   `Pod`, `PodSpec`, …: a TypedDict for each type, for mypy and editors
  views/pods.py      `PodView`, …: msgspec classes with the fields that views.txt names

Run by hatch_build.py when Steersman is built or installed, and by make when a file has changed
(`python -m steersman.objects.kinds.generating`). Uses the standard library alone: it runs in build
environments where Steersman's dependencies are not.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from steersman.objects.kinds.generating.description import Description, DescriptionError, Sources
from steersman.objects.kinds.generating.dictionaries import type_modules
from steersman.objects.kinds.generating.enumerations import enumeration_module
from steersman.objects.kinds.generating.layout import headed
from steersman.objects.kinds.generating.view_classes import view_modules
from steersman.objects.kinds.generating.view_files import read_views

__all__ = ["MADE", "DescriptionError", "Sources", "generate", "sources"]

#: What is made, in the folder above this one.
MADE: Final = ("enums.py", "types/*.py", "views/*.py")
_PACKAGES: Final = {
    "types": "Objects as dictionaries: a TypedDict for each type, a module for each group and version.",
    "views": "Objects as readers see them: the fields that views.txt names, decoded from JSON by msgspec.",
}


def sources(schema: Path, kinds: Path) -> Sources:
    """The files of the repository, by the folders they are in."""
    return Sources(schema / "_table.json", schema / "wire.txt", schema / "enums.txt", kinds / "views.txt")


def generate(sources: Sources, folder: Path) -> None:
    """Write all modules into `folder`. Raises DescriptionError, before anything is written."""
    described = Description.read(sources)
    views = read_views(sources.views.read_text("utf-8"), described)
    modules = {
        "enums.py": enumeration_module(described),
        **{f"types/{name}.py": text for name, text in type_modules(described)},
        **{f"views/{name}.py": text for name, text in view_modules(views, described)},
    }
    for package, docstring in _PACKAGES.items():
        modules[f"{package}/__init__.py"] = headed(docstring)
    _write_all(folder, modules)


def _write_all(folder: Path, modules: dict[str, str]) -> None:
    """Each by renaming, so that a second process building at the same time never reads half a file."""
    for name, text in modules.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        if path.exists() and path.read_text("utf-8") == text:
            continue
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        draft.write_text(text, "utf-8")
        draft.replace(path)
    for package in _PACKAGES:
        for path in (folder / package).glob("*.py"):
            if f"{package}/{path.name}" not in modules:
                path.unlink(missing_ok=True)
