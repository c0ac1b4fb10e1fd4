"""The options that are set where an operator runs, without touching its code, declared in one place.

    flag  --log-level=debug      over
    env   STEERSMAN_LOG_LEVEL    over
    file  log-level: debug       over      YAML or TOML, named by --config or STEERSMAN_CONFIG
    code  what the operator declares

`OPTIONS` is the declaration: the keys in files, the names of variables and the page of the documentation are
made from it; flags are in `cli.run_options`. An error is one line with the file, the line and the option.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from steersman.election import Lease
from steersman.objects.custom.durations import parse_duration
from steersman.objects.errors import ObjectError
from steersman.objects.selectors import LabelSelector
from steersman.operator.errors import OperatorError
from steersman.runtime import RetryPolicy
from steersman.runtime.probes import parse_address

if TYPE_CHECKING:
    from steersman.operator.assembly import Settings
    from steersman.operator.operator import Chain

__all__ = ["OPTIONS", "Configuration", "ConfigurationError", "Option", "table"]

_FILE_VARIABLE = "STEERSMAN_CONFIG"
_OFF = "off"


class ConfigurationError(OperatorError):
    """One line: where it is said, which option, and what is wrong."""


@dataclass(frozen=True, slots=True)
class Option:
    name: str
    #: Makes the value of a text; raises ValueError or ObjectError with a sentence.
    read: Callable[[str], Any]
    #: How its values look.
    values: str
    default: str
    help: str

    @property
    def variable(self) -> str:
        return f"STEERSMAN_{self.name.replace('-', '_').upper()}"

    @property
    def flag(self) -> str:
        return f"--{self.name}"


def _one_of(*choices: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text.lower() not in choices:
            raise ValueError(f"{text!r} is none of {', '.join(choices)}")
        return text.lower()

    return read


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"{text!r} is not a positive integer")
    return int(text)


def _span_s(text: str) -> float:
    seconds = float(text) if re.fullmatch(r"\d+(\.\d+)?", text) else parse_duration(text).total_seconds()
    if seconds < 0:
        raise ValueError(f"{text!r} is negative")
    return seconds


def _positive_span_s(text: str) -> float:
    if not (seconds := _span_s(text)):
        raise ValueError("it must be more than zero")
    return seconds


def _address(text: str) -> str:
    if text != _OFF:
        parse_address(text)
    return text


def _host(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?|[0-9a-fA-F:]+", text):
        raise ValueError(f"{text!r} is not a host name or IP address")
    return text


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise ValueError("it is empty")
    return names


def _selector(text: str) -> str:
    LabelSelector.parse(text)
    return text


def _name(text: str) -> str:
    if not re.fullmatch(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", text):
        raise ValueError(f"{text!r} is not a valid object name")
    return text


OPTIONS = (
    Option(
        "log-level",
        _one_of("debug", "info", "warning", "error"),
        "debug, info, …",
        "info",
        "Lowest level of messages to log.",
    ),
    Option("log-format", _one_of("auto", "text", "json"), "auto, text, json", "auto", "Log format."),
    Option(
        "metrics-bind", _address, "[HOST]:PORT, off", ":8080", "Address of the health probes and metrics."
    ),
    Option("webhook-bind", _address, "[HOST]:PORT, off", ":9443", "Address of the webhook server."),
    Option(
        "webhook-host", _host, "HOST", "a Service", "Host name at which the API server reaches the webhooks."
    ),
    Option("workers", _count, "number", "8", "Number of objects to reconcile concurrently."),
    Option("namespaces", _names, "NAME,NAME,…", "all", "Watch these namespaces only."),
    Option("namespace-selector", _selector, "LABELS", "all", "Watch namespaces with these labels only."),
    Option("selector", _selector, "LABELS", "all", "Watch objects with these labels only."),
    Option("leader-election", _name, "NAME, off", "as declared", "Elect a leader by this Lease."),
    Option(
        "sharding",
        _name,
        "NAME, off",
        "as declared",
        "Share the objects among replicas; the name of the shard group.",
    ),
    Option(
        "resync", _span_s, "duration", "10h", "Reconcile every object again after this time; 0 for never."
    ),
    Option("timeout", _positive_span_s, "duration", "none", "Time limit of a reconcile."),
    Option("min-interval", _span_s, "duration", "0s", "Minimum time between two reconciles of an object."),
    Option("retry-first", _positive_span_s, "duration", "1s", "Backoff after the first failure; it doubles."),
    Option("retry-ceiling", _positive_span_s, "duration", "5m", "Maximum backoff after failures."),
    Option("grace", _span_s, "duration", "30s", "How long to wait for running reconciles at shutdown."),
)
_BY_NAME = {option.name: option for option in OPTIONS}


@dataclass(frozen=True, slots=True)
class Configuration:
    """What was set, and where: only that is changed, everything else stays as the code says."""

    values: Mapping[str, Any] = field(default_factory=dict)
    #: For messages: `operator.yaml:3: workers`.
    origins: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def load(
        cls,
        file: Path | str | None = None,
        flags: Mapping[str, str | None] | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> Configuration:
        """Raises ConfigurationError. `flags` by option name; None for those not given."""
        values: dict[str, Any] = {}
        origins: dict[str, str] = {}
        file = file or environ.get(_FILE_VARIABLE) or None
        said: list[tuple[str, str, str]] = []
        if file is not None:
            said += _of_file(Path(file))
        said += _of_environment(environ)
        said += [(name, text, f"--{name}") for name, text in (flags or {}).items() if text is not None]
        for name, text, origin in said:
            option = _BY_NAME.get(name)
            if option is None:
                raise ConfigurationError(f"{origin}: there is no such option{_meant(name)}")
            try:
                values[name] = _OFF if text == _OFF and _OFF in option.values else option.read(text)
            except (ValueError, ObjectError) as error:
                raise ConfigurationError(f"{origin}: {error}") from None
            origins[name] = origin
        made = cls(values, origins)
        made._check()
        return made

    def _check(self) -> None:
        for one, other in (("namespaces", "namespace-selector"), ("leader-election", "sharding")):
            if {self.values.get(one, _OFF), self.values.get(other, _OFF)}.isdisjoint({_OFF}):
                raise ConfigurationError(
                    f"{self.origins[other]}: it cannot be used together with {one} ({self.origins[one]})"
                )

    def apply(self, operators: Iterable[Chain[Any]]) -> None:
        """Have the operators be as set."""
        for operator in operators:
            self._apply(operator)

    def _apply(self, operator: Chain[Any]) -> None:
        values, definition = self.values, operator.definition
        if "workers" in values:
            operator.with_concurrency(values["workers"])
        if "namespaces" in values:
            operator.in_namespaces(*values["namespaces"])
        if "namespace-selector" in values:
            operator.in_namespaces(selector=values["namespace-selector"])
        if "selector" in values:
            operator.with_selector(values["selector"])
        if "timeout" in values:
            operator.with_timeout(values["timeout"])
        if "min-interval" in values:
            operator.with_min_interval(values["min-interval"])
        self._apply_retry(operator)
        # Either stands in for the other: what is set wins over what the code declares.
        if (name := values.get("leader-election")) is not None:
            definition.election = None if name == _OFF else Lease(name)
            definition.sharding = definition.sharding if name == _OFF else None
        if (name := values.get("sharding")) is not None:
            if name != _OFF:
                operator.with_sharding(name)
                definition.election = None
            else:
                definition.sharding = None

    def _apply_retry(self, operator: Chain[Any]) -> None:
        declared = operator.definition.retry
        first_s = self.values.get("retry-first", declared.first_s)
        ceiling_s = self.values.get("retry-ceiling", declared.ceiling_s)
        if (first_s, ceiling_s) == (declared.first_s, declared.ceiling_s):
            return
        try:
            operator.with_retry(RetryPolicy(first_s, ceiling_s, declared.factor))
        except ValueError:
            origin = self.origins.get("retry-first") or self.origins["retry-ceiling"]
            raise ConfigurationError(
                f"{origin}: the first wait ({first_s:g} s) is longer than the longest ({ceiling_s:g} s)"
            ) from None

    def settings(self, base: Settings) -> Settings:
        """How operators run, as set."""
        values, made = self.values, base
        if "metrics-bind" in values:
            made = replace(made, address=_listener(values["metrics-bind"]))
        if "webhook-bind" in values:
            made = replace(made, webhooks=replace(made.webhooks, address=_listener(values["webhook-bind"])))
        if "webhook-host" in values:
            made = replace(made, webhooks=replace(made.webhooks, host=values["webhook-host"]))
        if "grace" in values:
            made = replace(made, grace_s=values["grace"])
        if "resync" in values:
            made = replace(made, resync_s=values["resync"])
        return made

    @property
    def log_level(self) -> str:
        level: str = self.values.get("log-level", "info")
        return level.upper()

    @property
    def log_format(self) -> Any:
        return self.values.get("log-format", "auto")


def table() -> str:
    """The options as a table of Markdown."""
    rows: list[tuple[str, ...]] = [
        ("In a file", "Flag", "Variable", "Values", "Default", "What it does"),
        ("---",) * 6,
    ]
    for option in OPTIONS:
        row = (option.name, option.flag, option.variable)
        rows.append((*(f"`{each}`" for each in row), option.values, option.default, option.help))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def _listener(text: str) -> str | None:
    return None if text == _OFF else text


def _meant(name: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, _BY_NAME, 1)
    return f"; is {close[0]} meant?" if close else ""


def _of_environment(environ: Mapping[str, str]) -> list[tuple[str, str, str]]:
    # Other variables with this prefix are none of our business: they may be the operator's own.
    return [
        (option.name, environ[option.variable], option.variable)
        for option in OPTIONS
        if environ.get(option.variable)
    ]


def _of_file(path: Path) -> list[tuple[str, str, str]]:
    """Name, text and `file:line: name` of everything a file says."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path}: it is not text") from None
    read = _of_toml if path.suffix == ".toml" else _of_yaml
    return [
        (name, _text(value, f"{path}:{line}: {name}"), f"{path}:{line}: {name}")
        for name, value, line in read(path, text)
    ]


def _of_yaml(path: Path, text: str) -> list[tuple[str, Any, int]]:
    try:
        root = yaml.compose(text, yaml.SafeLoader)
        found: Any = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigurationError(f"{path}:{line}: {error.problem}") from None
    except yaml.YAMLError as error:
        raise ConfigurationError(f"{path}: {' '.join(str(error).split())}") from None
    if root is None:
        return []
    if not isinstance(root, yaml.MappingNode):
        raise ConfigurationError(f"{path}:1: options are written as `name: value`")
    lines: dict[str, int] = {}
    for key, _ in root.value:
        line = key.start_mark.line + 1
        if key.value in lines:
            raise ConfigurationError(f"{path}:{line}: {key.value}: given twice")
        lines[key.value] = line
    return [(str(name), value, lines.get(str(name), 1)) for name, value in found.items()]


def _of_toml(path: Path, text: str) -> list[tuple[str, Any, int]]:
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        problem = re.sub(r" \(at .*\)", "", str(error))
        where = f"{path}:{line[1]}" if line else str(path)
        raise ConfigurationError(f"{where}: {problem}") from None
    lines = text.splitlines()

    def line_of(name: str) -> int:
        pattern = re.compile(rf"""\s*\[?["']?{re.escape(name)}["']?\s*[]=.]""")
        return next((number for number, line in enumerate(lines, 1) if pattern.match(line)), 1)

    return [(name, value, line_of(name)) for name, value in found.items()]


def _text(value: Any, origin: str) -> str:
    """A file's value as a flag would say it."""
    if value is False:
        return _OFF  # YAML reads a bare `off` as this
    if isinstance(value, list):
        return ",".join(_text(each, origin) for each in value)
    if value is None or isinstance(value, (dict, bool)):
        raise ConfigurationError(f"{origin}: a text, a number or a list is needed")
    return str(value)
