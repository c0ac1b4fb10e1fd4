"""The kubeconfig of a cluster's admin, written for kubectl and other clients."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from steersman.cluster.auth.pki import write_private

__all__ = ["write_kubeconfig"]


def write_kubeconfig(path: Path, url: str, authority: bytes, token: str) -> None:
    """`authority` is the certificate (PEM) that signed the server's, `token` the admin's."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_private(path, _text(url, authority, token).encode())


def _text(url: str, authority: bytes, token: str) -> str:
    return (
        "apiVersion: v1\n"
        "kind: Config\n"
        "clusters:\n"
        "- name: steersman\n"
        "  cluster:\n"
        f"    server: {url}\n"
        f"    certificate-authority-data: {base64.b64encode(authority).decode()}\n"
        "users:\n"
        "- name: admin\n"
        "  user:\n"
        f"    token: {json.dumps(token)}\n"
        "contexts:\n"
        "- name: steersman\n"
        "  context: {cluster: steersman, user: admin}\n"
        "current-context: steersman\n"
    )
