"""Choices that several commands offer by the same names."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["LogLevel", "Output"]


class Output(StrEnum):
    TEXT = "text"
    JSON = "json"


class LogLevel(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
