"""How to reach an API server and as whom: what a kubeconfig's context or a pod's environment comes down to.

Values only; `kubeconfig` and `in_cluster` make them, `connecting` uses them. Secrets are not shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["ExecSettings", "Impersonation", "Pem", "Settings", "UserSettings"]

Pem = bytes | Path
"""PEM text, or the file it is in, which may change."""


@dataclass(frozen=True, slots=True)
class ExecSettings:
    """A program that gives out credentials (client.authentication.k8s.io)."""

    command: str
    api_version: str
    args: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    install_hint: str = ""
    interactive_mode: str = "IfAvailable"
    provides_cluster_info: bool = False
    #: What the cluster's entry has for such programs.
    config: Any = None


@dataclass(frozen=True, slots=True)
class Impersonation:
    """Whom to act as."""

    user: str = ""
    uid: str = ""
    groups: Sequence[str] = ()
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UserSettings:
    """Who one is. What is not set is empty."""

    certificate: Pem | None = field(default=None, repr=False)
    key: Pem | None = field(default=None, repr=False)
    token: str = field(default="", repr=False)
    token_file: Path | None = None
    username: str = ""
    password: str = field(default="", repr=False)
    exec: ExecSettings | None = None
    impersonate: Impersonation = Impersonation()


@dataclass(frozen=True, slots=True)
class Settings:
    """One context, ready to be used."""

    server: str
    user: UserSettings = UserSettings()
    namespace: str = "default"
    ca: Pem | None = field(default=None, repr=False)
    insecure: bool = False
    server_name: str = ""
    proxy_url: str = field(default="", repr=False)
    compressed: bool = True
    #: Which file or place it is from, for errors.
    source: str = ""
