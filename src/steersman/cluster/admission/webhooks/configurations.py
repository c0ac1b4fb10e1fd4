"""Webhook configurations: read from the store, parsed once, cached until they change."""

from __future__ import annotations

import base64
import binascii
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from steersman.cluster.admission.chain import Reader
from steersman.cluster.admission.webhooks.conditions import Compiler, MatchConditions
from steersman.cluster.admission.webhooks.matching import MatchCriteria
from steersman.objects.kinds import Object

__all__ = ["GROUP", "ClientConfig", "Webhook", "read_webhooks"]


GROUP = "admissionregistration.k8s.io"


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """The clientConfig of a webhook: a URL or a Service."""

    url: str = ""
    #: (namespace, name)
    service: tuple[str, str] | None = None
    path: str = ""
    port: int = 443
    #: PEM; empty trusts the system's authorities.
    ca: bytes = b""

    @classmethod
    def parse(cls, config: Mapping[str, Any]) -> ClientConfig:
        try:
            ca = base64.b64decode(config.get("caBundle") or "", validate=True)
        except binascii.Error:
            ca = b""
        service = config.get("service")
        if service is None:
            return cls(url=config.get("url", ""), ca=ca)
        return cls(
            service=(service.get("namespace", ""), service.get("name", "")),
            path=service.get("path", ""),
            port=service.get("port", 443),
            ca=ca,
        )


@dataclass(frozen=True, slots=True)
class Webhook:
    """One webhook of a configuration."""

    #: Tells it from all others, also those of the same name.
    uid: str
    configuration: str
    name: str
    client: ClientConfig
    match: MatchCriteria
    conditions: MatchConditions
    ignore_failures: bool
    timeout_s: int
    #: Whether it may be asked about writes that will not happen.
    dry_run: bool
    review_versions: tuple[str, ...]
    #: Mutating only: to be asked again when others changed the object after it.
    reinvoked: bool


def read_webhooks(reader: Reader, plural: str, compiler: Compiler) -> tuple[Webhook, ...]:
    """All webhooks of a kind, in the order they are called."""
    return tuple(_webhooks(reader.list(GROUP, plural), compiler))


def _webhooks(configurations: Sequence[Object], compiler: Compiler) -> Iterator[Webhook]:
    for configuration in sorted(configurations, key=lambda each: str(each["metadata"]["name"])):
        seen: Counter[str] = Counter()
        name = configuration["metadata"]["name"]
        for hook in configuration.get("webhooks") or ():
            uid = f"{name}/{hook['name']}/{seen[hook['name']]}"
            seen[hook["name"]] += 1
            yield _parse(uid, name, hook, compiler)


def _parse(uid: str, configuration: str, hook: Mapping[str, Any], compiler: Compiler) -> Webhook:
    ignore_failures = hook.get("failurePolicy") == "Ignore"
    return Webhook(
        uid,
        configuration,
        hook["name"],
        ClientConfig.parse(hook.get("clientConfig") or {}),
        MatchCriteria.parse(hook, "rules"),
        MatchConditions.compile(compiler, hook.get("matchConditions") or (), ignore_failures=ignore_failures),
        ignore_failures,
        hook.get("timeoutSeconds") or 10,
        hook.get("sideEffects") in ("None", "NoneOnDryRun"),
        tuple(hook.get("admissionReviewVersions") or ()),
        hook.get("reinvocationPolicy") == "IfNeeded",
    )
