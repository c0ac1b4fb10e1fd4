"""kubeconfig files: read, merged, and one context of them picked.

The rules are kubectl's: of several files the first that names a cluster, user, context or the current
context wins; relative paths lie beside the file that has them; files that are not there are skipped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from steersman.client.errors import ConfigError, NoKubeconfig
from steersman.client.fields import Fields
from steersman.client.settings import ExecSettings, Impersonation, Settings, UserSettings

__all__ = ["Kubeconfig"]

_EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_EXEC_EXTENSION = "client.authentication.k8s.io/exec"
_INTERACTIVE_MODES = ("Never", "IfAvailable", "Always")

#: The lists of a kubeconfig, and what each entry calls its content.
_LISTS = {"clusters": "cluster", "users": "user", "contexts": "context"}


@dataclass(slots=True)
class Kubeconfig:
    """What all files say together."""

    files: Sequence[Path]
    current_context: str = ""
    entries: dict[str, dict[str, Fields]] = field(default_factory=lambda: {name: {} for name in _LISTS})

    @classmethod
    def read(cls, files: Sequence[Path]) -> Kubeconfig:
        """Files that do not exist are skipped, but one must be there."""
        merged = cls(files)
        found = [file for file in files if file.exists()]
        if not found:
            raise NoKubeconfig(f"{', '.join(map(str, files))}: there is no such kubeconfig")
        for file in found:
            merged._add(Fields(file, "", _parse(file)))
        return merged

    def _add(self, config: Fields) -> None:
        self.current_context = self.current_context or config.text("current-context")
        for plural, singular in _LISTS.items():
            here: dict[str, Fields] = {}
            for entry in config.each(plural):
                name = entry.text("name")
                if name in here:
                    entry.fail("name", f"there are two {plural} named {name!r}")
                here[name] = entry.part(singular)
            self.entries[plural] = here | self.entries[plural]

    def select(self, context: str | None = None) -> Settings:
        """The settings of a context, or of the current one."""
        name = context or self.current_context
        source = ", ".join(map(str, self.files))
        if not name:
            raise ConfigError(f"{source}: current-context is not set, and no context was given")
        chosen = self.entries["contexts"].get(name)
        if chosen is None:
            known = ", ".join(sorted(self.entries["contexts"])) or "none"
            raise ConfigError(f"{source}: there is no context {name!r} (there are: {known})")
        cluster = self._named(chosen, "cluster")
        user = self._named(chosen, "user")
        server = cluster.text("server").rstrip("/")
        if not _is_url(server):
            cluster.fail("server", "must be an http(s) URL")
        if cluster.flag("insecure-skip-tls-verify") and cluster.pem("certificate-authority") is not None:
            cluster.fail("insecure-skip-tls-verify", "cannot be used together with a certificate authority")
        return Settings(
            server=server,
            user=_user(user, cluster),
            namespace=chosen.text("namespace") or "default",
            ca=cluster.pem("certificate-authority"),
            insecure=cluster.flag("insecure-skip-tls-verify"),
            server_name=cluster.text("tls-server-name"),
            proxy_url=cluster.text("proxy-url"),
            compressed=not cluster.flag("disable-compression"),
            source=str(cluster.file),
        )

    def _named(self, context: Fields, kind: str) -> Fields:
        """The cluster or user that a context names."""
        name = context.text(kind)
        if not name and kind == "user":
            return Fields(context.file, "", {})
        found = self.entries[f"{kind}s"].get(name)
        if found is None:
            context.fail(kind, f"there is no {kind} {name!r}")
        return found


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        # A port out of range is found when it is looked at.
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _parse(file: Path) -> object:
    try:
        return yaml.safe_load(file.read_bytes())
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        # The words of the parser may quote a secret; the place is enough.
        mark = getattr(error, "problem_mark", None)
        place = f" (line {mark.line + 1})" if mark is not None else ""
        raise ConfigError(f"{file}: is not valid YAML{place}") from None


def _user(user: Fields, cluster: Fields) -> UserSettings:
    if user.raw("auth-provider") is not None:
        provider = user.part("auth-provider").text("name")
        user.fail(
            "auth-provider",
            f"{provider!r} was removed from Kubernetes; use a credential plugin (exec) in its place",
        )
    token = user.text("token")
    certificate, key = user.pem("client-certificate"), user.pem("client-key")
    if (certificate is None) != (key is None):
        missing = "client-key" if key is None else "client-certificate"
        user.fail(missing, "a client certificate and its key go together")
    plugin = _exec(user.part("exec"), cluster) if user.raw("exec") is not None else None
    if user.text("username") and (token or user.text("tokenFile")):
        user.fail("username", "a token and a username cannot be used together")
    if not token.isascii() or not token.isprintable():
        user.fail("token", "has characters that cannot be sent")
    if plugin is not None and (token or user.text("tokenFile")):
        # kubectl's rule: what is written down beats what would have to be asked for.
        plugin = None
    return UserSettings(
        certificate=certificate,
        key=key,
        token=token,
        token_file=user.path("tokenFile"),
        username=user.text("username"),
        password=user.text("password"),
        exec=plugin,
        impersonate=_impersonation(user),
    )


def _impersonation(user: Fields) -> Impersonation:
    extra: Mapping[str, list[str]] = {
        name: user.part("as-user-extra").texts(name) for name in user.mapping("as-user-extra")
    }
    found = Impersonation(user.text("as"), user.text("as-uid"), user.texts("as-groups"), extra)
    if not found.user and (found.uid or found.groups or found.extra):
        user.fail("as", "is needed to impersonate a uid, groups or extra values")
    return found


def _exec(plugin: Fields, cluster: Fields) -> ExecSettings:
    version = plugin.text("apiVersion")
    if version not in _EXEC_VERSIONS:
        plugin.fail("apiVersion", f"must be one of {', '.join(_EXEC_VERSIONS)}")
    command = plugin.text("command")
    if not command:
        plugin.fail("command", "is required")
    if "/" in command and not Path(command).is_absolute():
        command = str(plugin.file.parent / command)
    mode = plugin.text("interactiveMode")
    if not mode and version.endswith("/v1"):
        plugin.fail("interactiveMode", f"is required; one of {', '.join(_INTERACTIVE_MODES)}")
    if mode and mode not in _INTERACTIVE_MODES:
        plugin.fail("interactiveMode", f"must be one of {', '.join(_INTERACTIVE_MODES)}")
    extensions = {entry.text("name"): entry.raw("extension") for entry in cluster.each("extensions")}
    return ExecSettings(
        command=command,
        api_version=version,
        args=plugin.texts("args"),
        env={entry.text("name"): entry.text("value") for entry in plugin.each("env")},
        install_hint=plugin.text("installHint"),
        interactive_mode=mode or "IfAvailable",
        provides_cluster_info=plugin.flag("provideClusterInfo"),
        config=extensions.get(_EXEC_EXTENSION),
    )
