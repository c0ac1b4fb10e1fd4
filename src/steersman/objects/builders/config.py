"""ConfigMap and Secret: configuration that pods read as variables or files."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any, ClassVar, Self, overload

import orjson

from steersman.objects import resources
from steersman.objects.builders.resource import Resource
from steersman.objects.names import is_config_map_key

__all__ = ["ConfigMap", "Secret"]


class _Keyed(Resource):
    """What holds values under keys."""

    __slots__ = ()

    def immutable(self, value: bool = True) -> Self:
        """The API refuses every later change; the kubelet stops watching for one."""
        return self._put("immutable", self._flag("immutable", value))

    def _entry(self, field: str, other: str, key: str, value: str) -> None:
        """A key is in one of the two tables only: what was set last."""
        content = self._edit()
        self._name(field, key, is_config_map_key)
        content.setdefault(field, {})[key] = value
        if other in content:
            content[other].pop(key, None)
            if not content[other]:
                del content[other]


class ConfigMap(_Keyed):
    """`ConfigMap("settings").data("config.yaml", "key: value")`."""

    __slots__ = ()

    resource_type: ClassVar = resources.CONFIG_MAPS

    @overload
    def data(self, key: str, value: str) -> Self: ...
    @overload
    def data(self, key: Mapping[str, str]) -> Self: ...
    def data(self, key: str | Mapping[str, str], value: str | None = None) -> Self:
        """One key and its text, or a mapping of several."""
        entries = {key: value} if isinstance(key, str) else key
        for name, text in entries.items():
            if not isinstance(text, str):
                problem = f"{name}: must be a string, not {type(text).__name__}; bytes go into binary_data"
                raise self._error("data", problem)
            self._entry("data", "binaryData", name, text)
        return self

    def binary_data(self, key: str, value: bytes) -> Self:
        """Bytes that are no text; they are encoded here."""
        if not isinstance(value, bytes):
            raise self._error("binaryData", f"{key}: must be bytes, not {type(value).__name__}")
        self._entry("binaryData", "data", key, b64encode(value).decode())
        return self

    def value(self, key: str) -> str | None:
        """What is under a key of `data`, None if nothing is."""
        found: str | None = (self._object.get("data") or {}).get(key)
        return found


class Secret(_Keyed):
    """`Secret("login").data("password", "secret123")`; text and bytes are encoded to base64 here."""

    __slots__ = ()

    resource_type: ClassVar = resources.SECRETS

    @classmethod
    def tls(cls, name: str, certificate: str | bytes, key: str | bytes, namespace: str | None = None) -> Self:
        """A certificate and its key in PEM, as ingresses use them."""
        made = cls(name, namespace).type("kubernetes.io/tls")
        return made.data("tls.crt", certificate).data("tls.key", key)

    @classmethod
    def docker_registry(
        cls, name: str, server: str, username: str, password: str, namespace: str | None = None
    ) -> Self:
        """What `image_pull_secret` needs to pull from a registry."""
        login = f"{username}:{password}".encode()
        entry = {"username": username, "password": password, "auth": b64encode(login).decode()}
        made = cls(name, namespace).type("kubernetes.io/dockerconfigjson")
        return made.data(".dockerconfigjson", orjson.dumps({"auths": {server: entry}}))

    @classmethod
    def basic_auth(cls, name: str, username: str, password: str, namespace: str | None = None) -> Self:
        made = cls(name, namespace).type("kubernetes.io/basic-auth")
        return made.data("username", username).data("password", password)

    @overload
    def data(self, key: str, value: str | bytes) -> Self: ...
    @overload
    def data(self, key: Mapping[str, str | bytes]) -> Self: ...
    def data(self, key: str | Mapping[str, str | bytes], value: str | bytes | None = None) -> Self:
        """One key and its value, or a mapping of several; not encoded yet."""
        entries: Mapping[str, Any] = {key: value} if isinstance(key, str) else key
        for name, content in entries.items():
            if not isinstance(content, str | bytes):
                raise self._error("data", f"{name}: must be text or bytes, not {type(content).__name__}")
            plain = content.encode() if isinstance(content, str) else content
            self._entry("data", "stringData", name, b64encode(plain).decode())
        return self

    def type(self, name: str) -> Self:
        """Opaque unless said; it cannot be changed once created."""
        return self._put("type", self._text("type", name))

    def value(self, key: str) -> bytes | None:
        """What is under a key, decoded; None if nothing is."""
        found = (self._object.get("data") or {}).get(key)
        return None if found is None else b64decode(found)
