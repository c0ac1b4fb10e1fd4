"""Defaults of admission webhooks and admission policies."""

from __future__ import annotations

from collections.abc import Iterable

from steersman.cluster.schema.defaults.filling import unset
from steersman.objects.kinds import Object

__all__ = [
    "default_mutating_webhooks",
    "default_policy",
    "default_policy_binding",
    "default_service_port",
    "default_validating_webhooks",
]


def default_service_port(client_config: Object | None) -> None:
    """A service called over HTTPS listens on 443 unless told otherwise."""
    if client_config and (service := client_config.get("service")) is not None:
        unset(service, "port", 443)


def _default_rules(rules: Iterable[Object]) -> None:
    for rule in rules:
        unset(rule, "scope", "*")


def _default_matching(holder: Object) -> None:
    unset(holder, "matchPolicy", "Equivalent")
    unset(holder, "namespaceSelector", {})
    unset(holder, "objectSelector", {})


def default_validating_webhooks(configuration: Object) -> None:
    for webhook in configuration.get("webhooks") or ():
        unset(webhook, "failurePolicy", "Fail")
        unset(webhook, "timeoutSeconds", 10)
        _default_matching(webhook)
        default_service_port(webhook["clientConfig"])
        _default_rules(webhook.get("rules") or ())


def default_mutating_webhooks(configuration: Object) -> None:
    default_validating_webhooks(configuration)
    for webhook in configuration.get("webhooks") or ():
        unset(webhook, "reinvocationPolicy", "Never")


def _default_match_resources(match: Object | None) -> None:
    if match is not None:
        _default_matching(match)
        _default_rules(match.get("resourceRules") or ())
        _default_rules(match.get("excludeResourceRules") or ())


def default_policy(policy: Object) -> None:
    unset(policy["spec"], "failurePolicy", "Fail")
    _default_match_resources(policy["spec"].get("matchConstraints"))


def default_policy_binding(binding: Object) -> None:
    _default_match_resources(binding["spec"].get("matchResources"))
