"""Log lines that say on whose behalf they were written.

What runs inside `bound(…)` logs with those fields: the controller binds its name, the object, the reconcile
id, the reasons and the attempt around every reconcile, so that any logger, also a library's, shows them.
`set_up` is for the program at the top (`steer run`, `Operator.run`); libraries only log.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal, TextIO

import orjson

__all__ = ["JsonFormatter", "TextFormatter", "bind", "bound", "fields", "set_up"]

_EMPTY: Mapping[str, Any] = {}
_fields: ContextVar[Mapping[str, Any]] = ContextVar("steersman_log_fields", default=_EMPTY)


def fields() -> Mapping[str, Any]:
    """What is bound here."""
    return _fields.get()


def bind(bound_fields: Mapping[str, Any]) -> None:
    """Have the rest of this task log with exactly these fields."""
    _fields.set(bound_fields)


@contextmanager
def bound(**more: Any) -> Iterator[None]:
    """Have everything inside log with these fields as well."""
    token = _fields.set({**_fields.get(), **more})
    try:
        yield
    finally:
        _fields.reset(token)


def set_up(
    *,
    level: int | str = logging.INFO,
    style: Literal["auto", "text", "json"] = "auto",
    stream: TextIO | None = None,
) -> logging.Handler:
    """Log to `stream` (standard error): for people if it is a terminal, else one JSON object per line.

    Replaces the handler of an earlier call, and leaves other handlers of the root logger alone.
    """
    stream = stream or sys.stderr
    text = style == "text" or (style == "auto" and stream.isatty())
    handler = _Handler(stream)
    handler.setFormatter(TextFormatter() if text else JsonFormatter())
    root = logging.getLogger()
    for old in [known for known in root.handlers if isinstance(known, _Handler)]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level)
    return handler


class _Handler(logging.StreamHandler[TextIO]):
    """Told apart from handlers that others have put on the root logger."""


class TextFormatter(logging.Formatter):
    """`12:30:01.250 INFO  message  controller=webapp object=shop/web …`"""

    def format(self, record: logging.LogRecord) -> str:
        clock = time.strftime("%H:%M:%S", time.localtime(record.created))
        details = "".join(f" {name}={_shown(value)}" for name, value in _fields.get().items())
        line = f"{clock}.{int(record.msecs):03d} {record.levelname:<7} {record.getMessage()}"
        if details:
            line = f"{line} {details}"
        if record.exc_info:
            line = f"{line}\n{self.formatException(record.exc_info)}"
        return line


class JsonFormatter(logging.Formatter):
    """One object per line: time, level, logger and message, then the bound fields."""

    def format(self, record: logging.LogRecord) -> str:
        now = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "time": f"{now}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_fields.get(),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = str(record.exc_info[1])
            line["error_type"] = type(record.exc_info[1]).__name__
            line["traceback"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str).decode()


def _shown(value: Any) -> str:
    if type(value) is tuple:  # not a Key, which has a text of its own
        value = ",".join(map(str, value))
    text = str(value)
    return text if text and not any(char.isspace() or char in '"=' for char in text) else f'"{text}"'
