"""Configuration files in Kubernetes' form (apiVersion, kind): parsed from YAML, and checked by tables of
fields.

    problems = check_fields(obj, {"apiVersion": text, "rules": list_of(rule)}, Path())

A check yields what is wrong with a value. Called for the audit policy and the authentication configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any

from steersman.cluster.codec.errors import Malformed
from steersman.objects.fields import FieldError, Path, invalid, not_supported, required, type_invalid

__all__ = ["Check", "anything", "check_fields", "check_kind", "flag", "list_of", "read_file", "text"]

Check = Callable[[Any, Path], Iterator[FieldError]]


def read_file(file: FilePath) -> Any:
    """The content of a YAML file. Raises ValueError with one line that says why not."""
    # Most starts read no file.
    from steersman.cluster.codec import yaml

    try:
        value, repeated = yaml.parse(file.read_bytes())
    except OSError as error:
        raise ValueError(error.strerror or str(error)) from None
    except Malformed as error:
        raise ValueError(str(error)) from None
    if repeated:
        raise ValueError(repeated[0])
    return value


def check_kind(obj: Any, api_versions: tuple[str, ...], kind: str) -> Iterator[FieldError]:
    """Whether a file is what it is taken for."""
    if not isinstance(obj, dict):
        yield type_invalid(Path(kind[0].lower() + kind[1:]), obj, "must be an object")
        return
    for name, values in (("apiVersion", api_versions), ("kind", (kind,))):
        if not obj.get(name):
            yield required(Path(name))
        elif obj[name] not in values:
            yield not_supported(Path(name), obj[name], values)


def check_fields(obj: Any, fields: Mapping[str, Check], path: Path) -> Iterator[FieldError]:
    if not isinstance(obj, dict):
        yield type_invalid(path, obj, "must be an object")
        return
    for name, value in obj.items():
        at = path.child(str(name))
        if name not in fields:
            yield invalid(at, value, f"unknown field; there are {', '.join(fields)}")
        elif value is not None:
            yield from fields[name](value, at)


def anything(value: Any, path: Path) -> Iterator[FieldError]:
    return iter(())


def text(value: Any, path: Path) -> Iterator[FieldError]:
    if not isinstance(value, str):
        yield type_invalid(path, value, "must be a string")


def flag(value: Any, path: Path) -> Iterator[FieldError]:
    if not isinstance(value, bool):
        yield type_invalid(path, value, "must be true or false")


def list_of(check_item: Check) -> Check:
    def check_list(value: Any, path: Path) -> Iterator[FieldError]:
        if not isinstance(value, list):
            yield type_invalid(path, value, "must be a list")
            return
        for number, item in enumerate(value):
            yield from check_item(item, path.index(number))

    return check_list
