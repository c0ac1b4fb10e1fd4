"""The configuration of a process: flags over the environment over the file, checked as a whole.

    tenants:                 several tenants in one process: what stands beside the list is common to all,
    - tenant: a              and each entry says what it has of its own; --tenant chooses one of them
    - tenant: b

Every problem is named with its file, line and field, all of them at once. Secrets are read from files and
the environment; one in the file works and is warned about. Nothing here shows a secret.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from steersman.highlander.config.documents import Document, dotted, parse
from steersman.highlander.config.models import TenantConfig
from steersman.highlander.errors import ConfigError

__all__ = ["ENVIRONMENT", "Loaded", "Overrides", "load"]

#: Where a setting stands in the document, by the variable's name and the flag's.
ENVIRONMENT: Mapping[str, tuple[str, ...]] = {
    "ID": ("id",),
    "TENANT": ("tenant",),
    "PORT": ("port",),
    "BIND": ("api", "bind"),
    "NAMESPACE": ("namespace",),
    "STORAGE_TYPE": ("storageType",),
    "REDIS_ADDR": ("redis", "addr"),
    "REDIS_PASSWORD": ("redis", "password"),
    "REDIS_PASSWORD_FILE": ("redis", "passwordFile"),
    "REDIS_DB": ("redis", "db"),
    "DATABASE_URL": ("databaseURL",),
    "DATABASE_URL_FILE": ("databaseURLFile",),
    "RAFT_LISTEN": ("raft", "listen"),
    "RAFT_NAMESPACE": ("raft", "namespace"),
    "KUBECONFIG": ("cluster", "kubeconfig"),
    "CLUSTER_NAME": ("cluster", "name"),
    "PRIORITY": ("priority",),
    "REMAINS_FOLLOWER": ("remainsFollower",),
}
_PREFIX = "HIGHLANDER_"
_SECRETS = (("redis", "password"), ("databaseURL",))
_TENANTS = "tenants"
_TENANT = "TENANT"

#: By the names of ENVIRONMENT; what is None was not given.
Overrides = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Loaded:
    """What the process is to do."""

    tenants: tuple[TenantConfig, ...]
    warnings: tuple[str, ...] = field(default=())

    @property
    def process(self) -> TenantConfig:
        """What the process itself needs (port, api): the first tenant's."""
        return self.tenants[0]


def load(
    file: Path | None, *, flags: Overrides | None = None, environment: Mapping[str, str] | None = None
) -> Loaded:
    """Raises ConfigError. Without a file there are the environment and flags."""
    environment = os.environ if environment is None else environment
    document = _document(file)
    given = {name: environment.get(f"{_PREFIX}{name}") for name in ENVIRONMENT}
    sources = [("the environment variable " + _PREFIX, given), ("the flag --", dict(flags or {}))]
    chosen = _chosen_tenant(document, sources)
    problems: list[str] = []
    warnings: list[str] = []
    tenants: list[TenantConfig] = []
    for part, common in _parts(document):
        _check_keys(part, problems)
        warnings += _told_secrets(part)
        merged = _merged({key: each for key, each in common.items() if key != _TENANTS}, part.value)
        origins = _override(merged, sources)
        try:
            tenants.append(TenantConfig.model_validate(merged))
            warnings += _told_unused(part, tenants[-1])
        except ValidationError as error:
            problems += _explained(part, origins, error)
    if chosen is not None:
        tenants = [tenant for tenant in tenants if tenant.tenant == chosen]
        if not tenants and not problems:
            problems.append(f"{document.at((_TENANTS,))}: there is no tenant {chosen!r}")
    names = [tenant.tenant for tenant in tenants]
    problems += [
        f"{document.file}: there are two tenants {name!r}" for name in set(names) if names.count(name) > 1
    ]
    if problems:
        raise ConfigError("\n".join(dict.fromkeys(problems)))
    return Loaded(tuple(tenants), tuple(warnings))


def _chosen_tenant(document: Document, sources: list[tuple[str, dict[str, str | None]]]) -> str | None:
    """Of a file with several tenants, environment and flags do not rename one but choose it."""
    if _TENANTS not in document.value:
        return None
    chosen = None
    for _, values in sources:
        chosen = values.pop(_TENANT, None) or chosen
    return chosen


def _document(file: Path | None) -> Document:
    if file is None:
        return parse("no file", "")
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{file}: the file is not UTF-8 text") from None
    return parse(str(file), text)


def _parts(document: Document) -> Iterator[tuple[Document, dict[str, Any]]]:
    """Each tenant's own document, and what all have in common."""
    several = document.value.get(_TENANTS)
    if several is None:
        yield document, {}
        return
    if not isinstance(several, list) or not several:
        raise ConfigError(f"{document.at((_TENANTS,))}: must be a list with at least one tenant")
    for index in range(len(several)):
        yield document.part(_TENANTS, index), document.value


def _check_keys(part: Document, problems: list[str]) -> None:
    for unknown in part.unknown(TenantConfig):
        if unknown.path != (_TENANTS,):
            problems.append(f"{part.file}:{unknown.line}: {dotted(unknown.path)}: {unknown}")


def _told_secrets(part: Document) -> Iterator[str]:
    for path in _SECRETS:
        value: Any = part.value
        for step in path:
            value = value.get(step) if isinstance(value, dict) else None
        if value:
            variable = next(name for name, where in ENVIRONMENT.items() if where == path)
            yield f"{part.at(path)}: a secret in the file: use {path[-1]}File or {_PREFIX}{variable}"


def _told_unused(part: Document, tenant: TenantConfig) -> Iterator[str]:
    """A custom resource takes the place of all that an entry says beside its reference to it."""
    for place, spec in tenant.workloads.placed():
        if spec.workload_crd_ref is not None and spec.image:
            yield f"{part.at(place)}: the fields beside workloadCRDRef are not used"


def _merged(common: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """What a tenant says over what all say; sections are merged, lists are not."""
    merged = dict(common)
    for key, value in own.items():
        old = merged.get(key)
        merged[key] = _merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def _override(
    merged: dict[str, Any], sources: list[tuple[str, dict[str, str | None]]]
) -> dict[tuple[str, ...], str]:
    """Put later sources over earlier ones; who said what, for error messages."""
    origins: dict[tuple[str, ...], str] = {}
    for origin, values in sources:
        for name, value in values.items():
            if value is None or value == "":
                continue
            path = ENVIRONMENT[name]
            section = merged
            for step in path[:-1]:
                inner = section.get(step)
                section[step] = dict(inner) if isinstance(inner, dict) else {}
                section = section[step]
            section[path[-1]] = value
            spelled = name.lower().replace("_", "-") if "flag" in origin else name
            origins[path] = f"{origin}{spelled}"
    return origins


def _explained(
    part: Document, origins: Mapping[tuple[str, ...], str], error: ValidationError
) -> Iterator[str]:
    for each in error.errors(include_url=False, include_input=False):
        message = each["msg"].removeprefix("Value error, ")
        for path, text in each.get("ctx", {}).get("problems") or [(each["loc"], message)]:
            origin = origins.get(tuple(str(step) for step in path))
            yield f"{origin}: {text}" if origin else f"{part.at(path)}: {text}"
