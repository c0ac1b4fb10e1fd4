"""Rendering of audit events as lines: audit.k8s.io/v1 Event in JSON, with the fields in the order of the API.

Runs on the writer's thread, on bodies that are not changed any more.
"""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime
from typing import Any

import orjson

from steersman.cluster.apiserver.audit.event import Facts, Outcome, Snapshot
from steersman.cluster.apiserver.audit.policy import LEVELS, REQUEST, REQUEST_RESPONSE
from steersman.cluster.apiserver.audit.redaction import redact, redact_uri, without_managed_fields
from steersman.cluster.auth.users import User, user_info
from steersman.cluster.codec.errors import Malformed, UnsupportedMediaType
from steersman.cluster.codec.negotiate import input_format
from steersman.cluster.schema.errors import DecodeError
from steersman.cluster.schema.resources import GVK
from steersman.cluster.schema.table import type_name
from steersman.http import Content, Request
from steersman.objects.kinds import Object

__all__ = ["render"]


_LONGEST_USER_AGENT = 1024
_STATUS_FIELDS = ("status", "message", "reason", "details", "code")


def render(snapshot: Snapshot) -> bytes:
    """The line, with its end."""
    facts, outcome = snapshot.facts, snapshot.outcome
    level = facts.verdict.level
    answered = outcome is not None
    sent = _request_value(facts) if answered else None
    received = _response_value(outcome) if outcome is not None and outcome.body else None
    event: Object = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": LEVELS[level],
        "auditID": facts.id,
        "stage": snapshot.stage,
        "requestURI": redact_uri(facts.request.target),
        "verb": facts.action.verb,
        "user": _user(facts.user),
    }
    if snapshot.impersonated is not None:
        event["impersonatedUser"] = _user(snapshot.impersonated)
    event["sourceIPs"] = _source_addresses(facts.request)
    if agent := facts.request.headers.get("user-agent"):
        event["userAgent"] = agent if len(agent) <= _LONGEST_USER_AGENT else _shortened(agent)
    if not facts.action.path:
        event["objectRef"] = _reference(facts, sent)
    if outcome is not None:
        event["responseStatus"] = _status(outcome, received)
    if not facts.action.path:
        if sent is not None and level >= REQUEST:
            event["requestObject"] = _presentable(sent, facts)
        if received is not None and level >= REQUEST_RESPONSE and snapshot.stage == "ResponseComplete":
            event["responseObject"] = _presentable(received, facts)
    event["requestReceivedTimestamp"] = _micro_time(facts.received)
    event["stageTimestamp"] = _micro_time(snapshot.at)
    if snapshot.annotations:
        event["annotations"] = snapshot.annotations
    return orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE)


def _shortened(agent: str) -> str:
    return agent[:_LONGEST_USER_AGENT] + "...TRUNCATED"


def _micro_time(when: float) -> str:
    return datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _user(user: User | None) -> Object:
    return {} if user is None else user_info(user)


def _source_addresses(request: Request) -> list[str]:
    """Where it came from, as proxies report it, and the peer, which cannot be forged."""
    headers = request.headers
    found: list[str] = []
    for part in (headers.get("x-forwarded-for") or "").split(","):
        if address := _address(part):
            found.append(address)
    if (real := _address(headers.get("x-real-ip") or "")) and real not in found:
        found.append(real)
    peer = _address(request.connection.client[0])
    if peer and found[-1:] != [peer]:
        found.append(peer)
    return found


def _address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text.strip()))
    except ValueError:
        return ""


def _reference(facts: Facts, sent: Any) -> Object:
    """What the request is about; a new object is named by its body."""
    action = facts.action
    given = sent.get("metadata") if action.verb in ("create", "update") and isinstance(sent, dict) else None
    metadata: Object = given if isinstance(given, dict) else {}
    fields = {
        "resource": action.resource,
        "namespace": action.namespace or metadata.get("namespace"),
        "name": action.name or metadata.get("name"),
        "uid": metadata.get("uid"),
        "apiGroup": action.group,
        "apiVersion": action.version,
        "resourceVersion": metadata.get("resourceVersion"),
        "subresource": action.subresource,
    }
    return {key: value for key, value in fields.items() if value}


def _status(outcome: Outcome, received: Any) -> Object:
    status: Object = {"metadata": {}}
    if isinstance(received, dict) and received.get("kind") == "Status":
        status |= {key: received[key] for key in _STATUS_FIELDS if key in received}
    for key in ("status", "message", "reason"):
        if value := getattr(outcome, key):
            status[key] = value
    return status | {"code": outcome.code}


def _presentable(value: Any, facts: Facts) -> Any:
    action = facts.action
    redact(value, f"{action.resource}/{action.subresource}" if action.subresource else action.resource)
    if facts.verdict.omit_managed_fields:
        without_managed_fields(value)
    return value


# Bodies


def _request_value(facts: Facts) -> Any:
    request = facts.request
    if not request.content or facts.action.path:
        return None
    content_type = request.headers.get("content-type") or ""
    try:
        if "patch+" in content_type:
            return _parsed(request.content, yaml="+yaml" in content_type)
        body_format = input_format(content_type)
        if body_format == "protobuf":
            return _from_protobuf(request.content)
        return _parsed(request.content, yaml=body_format == "yaml")
    except (Malformed, DecodeError, UnsupportedMediaType):
        # The request was refused for it; there is nothing to show.
        return None


def _response_value(outcome: Outcome) -> Any:
    try:
        return _parsed(_joined(outcome.body), yaml=outcome.yaml)
    except Malformed:
        return None


def _joined(body: Content) -> bytes:
    return body if isinstance(body, bytes) else b"".join(body)


def _parsed(content: bytes, *, yaml: bool) -> Any:
    if not yaml:
        try:
            return orjson.loads(content)
        except orjson.JSONDecodeError as error:
            raise Malformed(str(error)) from None
    from steersman.cluster.codec import yaml as yaml_codec

    return yaml_codec.parse(content)[0]


def _from_protobuf(content: bytes) -> Any:
    from steersman.cluster.codec import protobuf

    envelope = protobuf.open_envelope(content)
    name = type_name(GVK.of(envelope.api_version, envelope.kind))
    if name is None:
        return None
    said = {"kind": envelope.kind, "apiVersion": envelope.api_version}
    return said | protobuf.decode(name, envelope.raw)
