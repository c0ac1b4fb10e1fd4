"""`steer highlander step-down` and `drain`: orders to a running controller, over its API."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlencode

import typer

from steersman.cli.failure import CommandFailed
from steersman.cli.process import run_briefly

if TYPE_CHECKING:
    from steersman.http import Client

__all__ = ["drain", "step_down"]

AddressOption = Annotated[str, typer.Option(metavar="URL", help="The URL of the controller's API.")]
TenantOption = Annotated[
    str, typer.Option(help="The tenant of the controller.", show_default="the first of the process")
]
TokenOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="The file that contains the API token.", show_default="HIGHLANDER_API_TOKEN"
    ),
]
CaOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The CA certificate that signed the controller's certificate."),
]
CertOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="A client certificate and its key, instead of a token.")
]
TimeoutOption = Annotated[
    float,
    typer.Option(
        metavar="SECONDS", help="How long to wait until the workloads have stopped; 0 does not wait."
    ),
]

_ADDRESS = "http://127.0.0.1:8080"
_TIMEOUT_S = 120.0
_LOOK_S = 0.5
#: Where the workloads may still run.
_AT_WORK = ("leading", "taking-over", "stopping")


@dataclass(frozen=True, slots=True)
class _Controller:
    """How to reach one tenant's controller, and as whom."""

    address: str
    tenant: str
    token_file: Path | None
    ca_file: Path | None
    cert_file: Path | None

    def headers(self) -> list[tuple[bytes, bytes]]:
        token = os.environ.get("HIGHLANDER_API_TOKEN", "")
        if self.token_file is not None:
            try:
                token = self.token_file.read_text(encoding="utf-8").strip()
            except (OSError, UnicodeDecodeError) as error:
                raise CommandFailed(f"{self.token_file}: {error}", 2) from None
        if not token and self.cert_file is None:
            raise CommandFailed("a token is needed: --token-file or HIGHLANDER_API_TOKEN", 2)
        if not token.isascii() or not token.isprintable():
            raise CommandFailed("the token has characters that cannot be sent", 2)
        headers = [(b"content-type", b"application/json")]
        return [*headers, (b"authorization", f"Bearer {token}".encode())] if token else headers

    def connect(self) -> Client:
        from steersman.http import Client, client_tls

        if not self.address.startswith("https"):
            return Client(self.address)
        try:
            context = client_tls(
                ca=None if self.ca_file is None else str(self.ca_file),
                cert=None if self.cert_file is None else str(self.cert_file),
            )
        except OSError as error:
            raise CommandFailed(f"--ca-file or --cert-file: {error}", 2) from None
        return Client(self.address, ssl=context)

    def path(self, name: str) -> str:
        query = urlencode({"tenant": self.tenant}) if self.tenant else ""
        return f"/api/{name}?{query}" if query else f"/api/{name}"


def step_down(
    address: AddressOption = _ADDRESS,
    tenant: TenantOption = "",
    token_file: TokenOption = None,
    ca_file: CaOption = None,
    cert_file: CertOption = None,
    reason: Annotated[str, typer.Option(help="The reason to show in the history.")] = "asked to step down",
    timeout: TimeoutOption = _TIMEOUT_S,
) -> None:
    """Hand leadership over to another controller.

    The leader stops its workloads first.

    Example: steer highlander step-down --token-file token --reason maintenance
    """
    controller = _Controller(address, tenant, token_file, ca_file, cert_file)
    _order(controller, "step-down", {"reason": reason}, timeout)


def drain(
    address: AddressOption = _ADDRESS,
    tenant: TenantOption = "",
    token_file: TokenOption = None,
    ca_file: CaOption = None,
    cert_file: CertOption = None,
    undo: Annotated[
        bool, typer.Option("--undo", help="End the drain: let the controller contend for the lock again.")
    ] = False,
    timeout: TimeoutOption = _TIMEOUT_S,
) -> None:
    """Drain a controller: it stops its workloads.

    It no longer contends for the lock until `drain --undo`.

    Example: steer highlander drain --token-file token
    """
    controller = _Controller(address, tenant, token_file, ca_file, cert_file)
    _order(controller, "undrain" if undo else "drain", {}, 0.0 if undo else timeout)


def _order(controller: _Controller, name: str, body: dict[str, str], timeout_s: float) -> None:
    from steersman.http import HttpError

    headers = controller.headers()

    async def give() -> bool:
        async with controller.connect() as http:
            await _asked(http, "POST", controller.path(name), headers, json.dumps(body).encode())
            return timeout_s > 0 and await _is_idle(http, controller.path("controller"), timeout_s)

    try:
        idle = run_briefly(give())
    except (HttpError, OSError, _Refused) as error:
        raise CommandFailed(f"{controller.address}: {error}") from None
    if timeout_s > 0 and not idle:
        raise CommandFailed(
            f"{controller.address}: {name} was accepted, but workloads still run after {timeout_s:g} s"
        )
    typer.echo(f"{name}: done")


class _Refused(Exception):
    """What the controller said."""


async def _asked(
    http: Client, method: str, path: str, headers: list[tuple[bytes, bytes]], content: bytes = b""
) -> dict[str, Any]:
    answer = await http.request(method, path, headers=headers, content=content)
    try:
        said = json.loads(answer.content)
        data, problem = said.get("data"), said.get("error")
    except (ValueError, AttributeError):
        data, problem = None, answer.content.decode(errors="replace")
    if answer.status >= 300:
        raise _Refused(problem or f"answered {answer.status}")
    return data if isinstance(data, dict) else {}


async def _is_idle(http: Client, path: str, timeout_s: float) -> bool:
    """Whether in time the controller runs nothing any more."""
    loop = asyncio.get_running_loop()
    until = loop.time() + timeout_s
    while True:
        state = await _asked(http, "GET", path, [])
        if state.get("phase") not in _AT_WORK:
            return True
        if loop.time() >= until:
            return False
        await asyncio.sleep(_LOOK_S)
