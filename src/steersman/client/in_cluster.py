"""A pod's own way to the API: the service account that Kubernetes mounts into it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from steersman.client.errors import ConfigError
from steersman.client.settings import Settings, UserSettings

__all__ = ["SERVICE_ACCOUNT", "in_cluster"]

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def in_cluster(environ: Mapping[str, str], folder: Path = SERVICE_ACCOUNT) -> Settings | None:
    """The settings of the pod this runs in; None outside of a cluster."""
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        return None
    token, ca = folder / "token", folder / "ca.crt"
    if not token.exists():
        raise ConfigError(f"{token}: there is no service account token, though this is a pod")
    return Settings(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        user=UserSettings(token_file=token),
        namespace=_namespace(folder / "namespace"),
        ca=ca if ca.exists() else None,
        source=str(folder),
    )


def _namespace(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip() or "default"
    except OSError:
        return "default"
