"""Reading settings out of YAML, with errors that name the file and the field."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from steersman.client.errors import ConfigError

__all__ = ["Fields"]


class Fields:
    """One mapping of a configuration file. Nothing that was read is repeated in an error."""

    def __init__(self, file: Path, where: str, values: Any) -> None:
        self.file = file
        self._where = where
        if values is None:
            values = {}
        if not isinstance(values, Mapping):
            self.fail("", "must be a mapping")
        self._values = values

    def fail(self, name: str, problem: str) -> NoReturn:
        field = f"{self._where}.{name}".strip(".")
        raise ConfigError(f"{self.file}: {field + ': ' if field else ''}{problem}")

    def text(self, name: str) -> str:
        value = self._values.get(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            self.fail(name, "must be a string")
        return value

    def flag(self, name: str) -> bool:
        value = self._values.get(name)
        if value is not None and not isinstance(value, bool):
            self.fail(name, "must be true or false")
        return bool(value)

    def texts(self, name: str) -> list[str]:
        value = self._values.get(name)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self.fail(name, "must be a list of strings")
        return value

    def path(self, name: str) -> Path | None:
        """A file; a relative one lies beside the file that names it."""
        value = self.text(name)
        return self.file.parent / Path(value) if value else None

    def data(self, name: str) -> bytes | None:
        value = self.text(name)
        if not value:
            return None
        try:
            return base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            self.fail(name, "must be base64")

    def pem(self, name: str) -> bytes | Path | None:
        """Data given as `<name>-data`, else the file of that name."""
        data = self.data(f"{name}-data")
        return data if data is not None else self.path(name)

    def raw(self, name: str) -> Any:
        return self._values.get(name)

    def part(self, name: str) -> Fields:
        return Fields(self.file, f"{self._where}.{name}".strip("."), self._values.get(name))

    def mapping(self, name: str) -> Mapping[str, Any]:
        return self.part(name)._values

    def each(self, name: str) -> Iterator[Fields]:
        values = self._values.get(name)
        if values is None:
            return
        if not isinstance(values, list):
            self.fail(name, "must be a list")
        for index, value in enumerate(values):
            yield Fields(self.file, f"{self._where}.{name}[{index}]".strip("."), value)
