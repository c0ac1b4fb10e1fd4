"""`MODULE[:NAME]`: the author's module, and the operators and custom resources in it.

MODULE is the name of a module (`shop.operators`, looked for here first) or a file (`shop/operators.py`).
NAME is one operator of it, or a list of them; without it all that the module has are meant. Whatever is
wrong with the module is one line that names the place.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, TypeGuard

from steersman.cli.failure import CommandFailed, one_line
from steersman.objects.custom import CustomResource, DefinitionError, Versions, crd
from steersman.objects.kinds import Object
from steersman.operator import Chain

__all__ = ["Loaded", "load"]

_Operator = Chain[Any]


@dataclass(frozen=True, slots=True)
class Loaded:
    """What `MODULE[:NAME]` stands for."""

    #: As it was given.
    text: str
    module: ModuleType
    #: Everything the module has, or what NAME is.
    values: Sequence[object]

    def operators(self) -> list[_Operator]:
        """In the order they are written down; at least one."""
        found: dict[int, _Operator] = {}
        for value in _flattened(self.values):
            if isinstance(value, Chain):  # an operator, or one of its functions
                found.setdefault(id(value.definition), value)
        if not found:
            raise CommandFailed(
                f"{self.text}: there is no operator in it; create one: op = Operator(MyResource)"
            )
        return list(found.values())

    def crds(self) -> list[Object]:
        """The definitions of its custom resources, and of those its operators are for."""
        several: list[Versions] = []
        classes: dict[str, dict[type[CustomResource], None]] = {}
        for value in _flattened(self.values):
            kind = value.definition.versions or value.definition.kind if isinstance(value, Chain) else value
            if isinstance(kind, Versions):
                several.append(kind)
            elif _is_custom_resource(kind):
                classes.setdefault(_name(kind), {})[kind] = None
        try:
            # An operator and each of its handlers name the same versions.
            made = {definition["metadata"]["name"]: definition for definition in (v.crd() for v in several)}
            rest = [crd(*each) for name, each in classes.items() if name not in made]
            return [*made.values(), *rest]
        except DefinitionError as error:
            raise CommandFailed(f"{self.text}: {error}") from None


def load(text: str) -> Loaded:
    """The module is run, as any import runs it."""
    where, colon, name = text.rpartition(":")
    if not colon:
        where, name = text, ""
    module = _from_file(Path(where)) if where.endswith(".py") else _by_name(where)
    if not name:
        return Loaded(text, module, list(vars(module).values()))
    value: object = module
    for part in name.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            raise CommandFailed(f"{where}: there is no {name!r} in it") from None
    return Loaded(text, module, [value])


def _flattened(values: Iterable[object]) -> Iterable[object]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from value
        else:
            yield value


def _is_custom_resource(value: object) -> TypeGuard[type[CustomResource]]:
    return isinstance(value, type) and issubclass(value, CustomResource) and hasattr(value, "definition")


def _name(kind: type[CustomResource]) -> str:
    return f"{kind.definition.plural}.{kind.definition.group}"


def _by_name(name: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise CommandFailed(f"{name!r} is neither a module name nor a .py file", 2)
    sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            raise CommandFailed(f"the module {name!r} is neither in this folder nor installed") from None
        raise CommandFailed(f"{name}: {_described(error)}") from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever the author's module does when it is run, and be it to end
        raise CommandFailed(f"{name}: {_described(error)}") from error


def _from_file(file: Path) -> ModuleType:
    if not file.is_file():
        raise CommandFailed(f"{file}: there is no such file")
    # As for a script: what lies beside it can be imported.
    sys.path.insert(0, str(file.resolve().parent))
    # A file may be called like a module that is there already, of Python's own even: operator.py.
    name = file.stem if file.stem not in sys.modules else f"steer_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise CommandFailed(f"{file}: is not a Python module")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever the author's module does when it is run, and be it to end
        del sys.modules[name]
        raise CommandFailed(f"{file}: {_described(error)}") from error
    return module


def _described(error: BaseException) -> str:
    """The error in one line, with the place in the author's code if there is one."""
    said = f"{type(error).__name__}: {one_line(error)}".removesuffix(": ")
    if isinstance(error, SyntaxError):
        return f"line {error.lineno}: {type(error).__name__}: {error.msg}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_authors(frame.filename)]
    if not frames:
        return said
    place = Path(frames[-1].filename)
    if place.is_relative_to(Path.cwd()):
        place = place.relative_to(Path.cwd())
    return f"{said} ({place}, line {frames[-1].lineno})"


def _is_authors(filename: str) -> bool:
    """Whether a file is none of Python's, of this package or of an installed one."""
    if filename.startswith("<"):
        return False
    own = Path(__file__).parents[1]
    path = Path(filename)
    library = Path(importlib.__file__).parents[1]
    return not (path.is_relative_to(own) or path.is_relative_to(library) or "site-packages" in path.parts)
