"""Removal of secrets and tokens from audited bodies and URLs. Changes objects in place."""

from __future__ import annotations

import re
from typing import Any, Final

__all__ = ["REDACTED", "redact", "redact_uri", "without_managed_fields"]

REDACTED: Final = "[redacted]"
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
#: Of Secrets that are credentials of this API (service account and bootstrap tokens).
_TOKEN_KEYS: Final = ("token", "token-secret")
_TOKEN_PATH: Final = re.compile(
    r"^(?:/(?:data|stringData|metadata|spec|status)(?:/token(?:-secret)?)?)?$|^/metadata/annotations"
)
_TOKEN_PARAMETER: Final = re.compile(r"([?&](?:access_token|token)=)[^&#]*", re.IGNORECASE)


def redact_uri(uri: str) -> str:
    """A request's address without the tokens some clients put there."""
    return _TOKEN_PARAMETER.sub(rf"\g<1>{REDACTED}", uri) if "token=" in uri.lower() else uri


def redact(value: Any, resource: str) -> None:
    """Take the tokens out of a body (an object, list, Table or patch) sent to or from `resource`."""
    if resource == "secrets":
        for obj in _members(value):
            _redact_secret(obj)
        if isinstance(value, list):
            _redact_patch(value)
    else:
        # TokenReview has it in spec, TokenRequest in status; nothing else under these resources has either.
        for obj in _members(value) if resource in ("tokenreviews", "serviceaccounts/token") else ():
            for part in ("spec", "status"):
                if isinstance(inner := obj.get(part), dict) and inner.get("token"):
                    inner["token"] = REDACTED
        if isinstance(value, list) and resource == "tokenreviews":
            _redact_patch(value)


def without_managed_fields(value: Any) -> None:
    """Drop metadata.managedFields of an object, or of what a list or Table shows."""
    for obj in _members(value):
        if isinstance(metadata := obj.get("metadata"), dict):
            metadata.pop("managedFields", None)


def _members(value: Any) -> list[dict[str, Any]]:
    """A body's objects: itself, a list's items, a Table's rows."""
    if not isinstance(value, dict):
        return []
    items, rows = value.get("items"), value.get("rows")
    found = [value, *(items if isinstance(items, list) else ())]
    found += [row.get("object") for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return [obj for obj in found if isinstance(obj, dict)]


def _redact_secret(secret: dict[str, Any]) -> None:
    for part in ("data", "stringData"):
        if isinstance(data := secret.get(part), dict):
            data.update({key: REDACTED for key in _TOKEN_KEYS if key in data})
    metadata = secret.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if isinstance(annotations, dict) and _LAST_APPLIED in annotations:
        # It holds the whole secret once more.
        annotations[_LAST_APPLIED] = REDACTED


def _redact_patch(operations: list[Any]) -> None:
    """A JSON patch says where its values go."""
    for operation in operations:
        if isinstance(operation, dict) and "value" in operation:
            path = operation.get("path")
            if not isinstance(path, str) or _TOKEN_PATH.search(path):
                operation["value"] = REDACTED
