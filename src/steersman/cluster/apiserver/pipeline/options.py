"""Options of a request (ListOptions, CreateOptions, DeleteOptions, …), from its query or body, validated.

Each verb has its options kind, which a 422 names: CreateOptions, UpdateOptions, PatchOptions,
DeleteOptions, ListOptions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import parse_qs

from steersman.cluster.codec import FieldValidation
from steersman.cluster.schema.go_messages import time_error
from steersman.objects.durations import duration_ns
from steersman.objects.fields import FieldError, Path, forbidden, invalid, not_supported, required, too_long
from steersman.objects.status import bad_request, options_invalid, unclassified

__all__ = [
    "DeleteOptions",
    "ListOptions",
    "WriteOptions",
    "check_timeout",
    "connect_options",
    "log_options",
    "parse_query",
]

Query = Mapping[str, Sequence[str]]

_FIELD_VALIDATION = ("", "Ignore", "Strict", "Warn")
_MANAGER_LIMIT = 128
_INTEGER = re.compile(r"[+-]?[0-9]+")
_BAD_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2})")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)


def parse_query(text: str) -> dict[str, list[str]]:
    """The parameters; those that are not well-formed do not count, as in Go."""
    if ";" in text or "%" in text:
        pairs = text.split("&")
        text = "&".join(pair for pair in pairs if ";" not in pair and not _BAD_ESCAPE.search(pair))
    return parse_qs(text, keep_blank_values=True) if text else {}


def _one(query: Query, name: str) -> str:
    values = query.get(name)
    return values[0] if values else ""


def _boolean(query: Query, name: str) -> bool | None:
    """Kubernetes reads any value but these as true, an absent one as unset."""
    if name not in query:
        return None
    return _one(query, name).lower() not in ("false", "0")


def _integer(query: Query, name: str) -> int | None:
    if name not in query:
        return None
    text = _one(query, name)
    if not _INTEGER.fullmatch(text):
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    number = -_magnitude(text[1:]) if text[0] == "-" else _magnitude(text.removeprefix("+"))
    if not -(1 << 63) <= number < 1 << 63:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": value out of range')
    return number


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        why = "invalid syntax"
    elif (number := _magnitude(text)) >> 16:
        why = "value out of range"
    else:
        return number
    raise bad_request(f'cannot convert to []int32: strconv.ParseUint: parsing "{text}": {why}')


def _magnitude(digits: str) -> int:
    """What the digits mean. Cut off where every number is out of range: int() refuses thousands of them."""
    return int(digits.lstrip("0")[:30] or "0")


def check_timeout(query: Query) -> None:
    """Refuse a `timeout` that says nothing. The deadline itself is the client's to keep."""
    if text := _one(query, "timeout"):
        try:
            duration_ns(text)
        except ValueError as error:
            raise bad_request(f"invalid timeout specified in the request URL - {error}") from None


def _check_dry_run(dry_run: Sequence[str]) -> list[FieldError]:
    if all(value == "All" for value in dry_run):
        return []
    return [not_supported(Path("dryRun"), list(dry_run), ["All"])]


def _check_manager(manager: str) -> list[FieldError]:
    errors = (
        [too_long(Path("fieldManager"), _MANAGER_LIMIT)] if len(manager.encode()) > _MANAGER_LIMIT else []
    )
    for position, character in enumerate(manager):
        if not character.isprintable():
            # Go counts bytes.
            offset = len(manager[:position].encode())
            detail = f"invalid character U+{ord(character):04X} (at position {offset})"
            errors.append(invalid(Path("fieldManager"), manager, detail))
    return errors


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Options of create, update and patch."""

    dry_run: bool = False
    field_manager: str = ""
    #: "Ignore", "Warn" or "Strict"; unset means Warn.
    field_validation: FieldValidation = "Warn"
    force: bool | None = None

    @classmethod
    def parse(cls, query: Query, kind: str, *, apply: bool = False) -> WriteOptions:
        if not query and not apply:
            return _DEFAULT_WRITE_OPTIONS
        manager = _one(query, "fieldManager")
        dry_run = query.get("dryRun", ())
        validation = cast(FieldValidation, _one(query, "fieldValidation"))
        force = _boolean(query, "force") if kind == "PatchOptions" else None
        errors: list[FieldError] = []
        if apply and not manager:
            errors.append(required(Path("fieldManager"), "is required for apply patch"))
        if force is not None and not apply:
            errors.append(forbidden(Path("force"), "may not be specified for non-apply patch"))
        errors += _check_manager(manager) + _check_dry_run(dry_run)
        if validation not in _FIELD_VALIDATION:
            errors.append(not_supported(Path("fieldValidation"), validation, _FIELD_VALIDATION))
        if errors:
            raise options_invalid(kind, errors)
        return cls(bool(dry_run), manager, validation or "Warn", force)


_DEFAULT_WRITE_OPTIONS = WriteOptions()


_UNSAFE = "ignoreStoreReadErrorWithClusterBreakingPotential"
#: What it does not go with, in the order that it is said in.
_UNSAFE_ALONE = ("propagationPolicy", "orphanDependents", "gracePeriodSeconds", "preconditions")
#: The fields of DeleteOptions, as they are written.
_SHOWN = ("gracePeriodSeconds", "preconditions", "orphanDependents", "propagationPolicy", "dryRun", _UNSAFE)

#: The streams a connection to a pod can have.
_STREAMS = ("stdin", "stdout", "stderr", "tty")


def connect_options(query: Query, kind: str, path: str) -> dict[str, Any]:
    """PodExecOptions and its like, as clients of admission see them. `path` is what follows a proxy's."""
    options: dict[str, Any] = {"kind": kind, "apiVersion": "v1"}
    if kind.endswith("ProxyOptions"):
        return options | ({"path": path} if path else {})
    options |= {name: True for name in _STREAMS if _boolean(query, name)}
    if container := _one(query, "container"):
        options["container"] = container
    if command := query.get("command"):
        options["command"] = list(command)
    if ports := query.get("ports"):
        options["ports"] = [_port(port) for given in ports for port in given.split(",")]
    return options


def log_options(query: Query) -> dict[str, Any]:
    """PodLogOptions: what of them was given."""
    options: dict[str, Any] = {
        name: True
        for name in ("follow", "previous", "timestamps", "insecureSkipTLSVerifyBackend")
        if _boolean(query, name)
    }
    for name in ("sinceSeconds", "tailLines", "limitBytes"):
        if (number := _integer(query, name)) is not None:
            options[name] = number
    for name in ("container", "sinceTime", "stream"):
        if text := _one(query, name):
            options[name] = text
    if "sinceTime" in options and not _TIME.fullmatch(options["sinceTime"]):
        raise bad_request(time_error(options["sinceTime"]))
    return options


@dataclass(slots=True)
class DeleteOptions:
    """Options of delete and deletecollection: the body, else the query string."""

    dry_run: bool = False
    grace_period_s: int | None = None
    uid: str | None = None
    resource_version: str | None = None
    orphan_dependents: bool | None = None
    propagation: str | None = None
    #: Wanted only for objects that cannot be read any more, and refused for others.
    unsafe: bool = False
    #: As they were said, for those who see the request whole (webhooks).
    given: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @classmethod
    def parse(cls, query: Query, body: Mapping[str, Any] | None) -> DeleteOptions:
        """`body` is a decoded DeleteOptions, None when there was none."""
        if body is None:
            body = cls._from_query(query)
        dry_run = body.get("dryRun") or ()
        propagation = body.get("propagationPolicy")
        orphan = body.get("orphanDependents")
        path = Path("propagationPolicy")
        errors = []
        if orphan is not None and propagation is not None:
            errors.append(
                invalid(path, propagation, "orphanDependents and deletionPropagation cannot be both set")
            )
        if propagation is not None and propagation not in ("Foreground", "Background", "Orphan"):
            errors.append(not_supported(path, propagation, ["Foreground", "Background", "Orphan", "nil"]))
        errors += _check_dry_run(dry_run)
        unsafe = bool(body.get(_UNSAFE))
        if unsafe:
            errors += [
                invalid(Path(_UNSAFE), True, f"cannot be set together with .{other}")
                for other in _UNSAFE_ALONE
                if body.get(other) is not None
            ]
        if errors:
            raise options_invalid("DeleteOptions", errors)
        preconditions = body.get("preconditions") or {}
        grace = body.get("gracePeriodSeconds")
        return cls(
            dry_run=bool(dry_run),
            grace_period_s=1 if grace is not None and grace < 0 else grace,
            uid=preconditions.get("uid"),
            resource_version=preconditions.get("resourceVersion"),
            orphan_dependents=orphan,
            propagation=propagation,
            unsafe=unsafe,
            given={key: body[key] for key in _SHOWN if body.get(key) not in (None, [])},
        )

    @staticmethod
    def _from_query(query: Query) -> dict[str, Any]:
        body: dict[str, Any] = {}
        if "dryRun" in query:
            body["dryRun"] = query["dryRun"]
        if (grace := _integer(query, "gracePeriodSeconds")) is not None:
            body["gracePeriodSeconds"] = grace
        if (orphan := _boolean(query, "orphanDependents")) is not None:
            body["orphanDependents"] = orphan
        if "propagationPolicy" in query:
            body["propagationPolicy"] = _one(query, "propagationPolicy")
        if (unsafe := _boolean(query, _UNSAFE)) is not None:
            body[_UNSAFE] = unsafe
        preconditions = {name: _one(query, name) for name in ("uid", "resourceVersion") if _one(query, name)}
        if preconditions:
            body["preconditions"] = preconditions
        return body


@dataclass(frozen=True, slots=True)
class ListOptions:
    """Options of list, watch and deletecollection's selection."""

    label_selector: str = ""
    field_selector: str = ""
    #: None when unset; "0" and a number mean different things, see the API's resource versions.
    resource_version: int | None = None
    resource_version_match: str = ""
    limit: int = 0
    continue_token: str = ""
    timeout_s: int | None = None
    watch: bool = False
    allow_bookmarks: bool = False
    send_initial_events: bool | None = None

    @classmethod
    def parse(cls, query: Query, *, watch: bool = False) -> ListOptions:
        if not query and not watch:
            return _DEFAULT_LIST_OPTIONS
        watch = watch or bool(_boolean(query, "watch"))
        version = _one(query, "resourceVersion")
        match = _one(query, "resourceVersionMatch")
        initial = _boolean(query, "sendInitialEvents")
        token = _one(query, "continue")
        errors = (_watch_errors if watch else _list_errors)(version, match, token, initial)
        if errors:
            raise options_invalid("ListOptions", errors)
        return cls(
            label_selector=_one(query, "labelSelector"),
            field_selector=_one(query, "fieldSelector"),
            resource_version=parse_resource_version(version, listing=not watch),
            resource_version_match=match,
            limit=max(_integer(query, "limit") or 0, 0),
            continue_token=token,
            timeout_s=_integer(query, "timeoutSeconds"),
            watch=watch,
            allow_bookmarks=bool(_boolean(query, "allowWatchBookmarks")),
            send_initial_events=initial,
        )


_DEFAULT_LIST_OPTIONS = ListOptions()


def parse_unsigned(text: str) -> int:
    """A number as Go reads it. Raises ValueError with Go's words."""
    is_number = text.isascii() and text.isdigit()
    if is_number and (number := _magnitude(text)) < 1 << 64:
        return number
    problem = "value out of range" if is_number else "invalid syntax"
    raise ValueError(f'strconv.ParseUint: parsing "{text}": {problem}')


def parse_resource_version(text: str, *, listing: bool = False) -> int | None:
    """None when unset. Only a list refuses a bad one as the client's fault."""
    if not text:
        return None
    try:
        return parse_unsigned(text)
    except ValueError as error:
        problem = str(invalid(Path("resourceVersion"), text, str(error)))
    raise bad_request(f"invalid resource version: {problem}") if listing else unclassified(problem)


def _list_errors(version: str, match: str, token: str, initial: bool | None) -> list[FieldError]:
    path = Path("resourceVersionMatch")
    errors = []
    if match:
        if not version:
            errors.append(
                forbidden(path, "resourceVersionMatch is forbidden unless resourceVersion is provided")
            )
        if token:
            errors.append(forbidden(path, "resourceVersionMatch is forbidden when continue is provided"))
        if match not in ("Exact", "NotOlderThan"):
            errors.append(not_supported(path, match, ["Exact", "NotOlderThan", ""]))
        if match == "Exact" and version == "0":
            errors.append(
                forbidden(path, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"')
            )
    if initial is not None:
        errors.append(forbidden(Path("sendInitialEvents"), "sendInitialEvents is forbidden for list"))
    return errors


def _watch_errors(version: str, match: str, token: str, initial: bool | None) -> list[FieldError]:
    path = Path("resourceVersionMatch")
    errors = []
    if initial is None and not match and version in ("", "0"):
        # Such a watch begins with what there is, as if it had asked for it.
        initial, match = True, "NotOlderThan"
    if initial is not None and match != "NotOlderThan":
        errors.append(
            forbidden(path, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")
        )
    if match:
        if initial is None:
            errors.append(
                forbidden(
                    path, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
                )
            )
        if match != "NotOlderThan":
            errors.append(not_supported(path, match, ["NotOlderThan"]))
        if token:
            errors.append(forbidden(path, "resourceVersionMatch is forbidden when continue is provided"))
    return errors
