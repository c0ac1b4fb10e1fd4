"""`steer url`: where a Service answers on this machine."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from steersman.cli.failure import CommandFailed, no_use_of_the_api, one_line
from steersman.cli.options import ContextOption, KubeconfigOption, Output

if TYPE_CHECKING:
    from steersman.client import Client

__all__ = ["url"]

_EXAMPLES = """Show the URL of a Service on this machine.

The command waits until the Service answers. Without root privileges, ports below 1024 cannot be opened,
and a Service's port 80 is available at another port, such as 8080.

Examples:

\b
  steer url web                  curl "$(steer url web)" send a request
  steer url web -n shop --port metrics
  steer url web --output json    all ports, for scripts
"""

Service = Mapping[str, Any]

_LOOK_S: Final = 0.05
#: What one try may take on a busy machine, however short the wait.
_TRY_S: Final = 1.0
_HTTPS: Final = 443
_USUAL: Final = {"http": 80, "https": _HTTPS}


def url(
    name: Annotated[str, typer.Argument(metavar="SERVICE", help="The name of the Service.")],
    namespace: Annotated[
        str | None,
        typer.Option(
            "--namespace",
            "-n",
            metavar="NAME",
            help="The namespace of the Service.",
            show_default="the kubeconfig's",
        ),
    ] = None,
    port: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|NUMBER", help="The Service port, by name or number.", show_default="the first"
        ),
    ] = None,
    wait: Annotated[
        float, typer.Option(metavar="SECONDS", help="How long to wait for the Service to answer.", min=0)
    ] = 30.0,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    output: Annotated[
        Output, typer.Option(help="The output format; json prints a list of all ports.")
    ] = Output.TEXT,
) -> None:
    name = name.removeprefix("service/").removeprefix("svc/")
    found = asyncio.run(_find(name, namespace, port, wait, kubeconfig, context))
    if output is Output.JSON:
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
    else:
        sys.stdout.write(f"{found[0]['url']}\n")


url.__doc__ = _EXAMPLES


async def _find(
    name: str,
    namespace: str | None,
    port: str | None,
    wait_s: float,
    kubeconfig: Path | None,
    context: str | None,
) -> Sequence[dict[str, Any]]:
    """The ports wanted, when the first of them answers. Raises `CommandFailed`."""
    from steersman.client import Client, ClientError

    try:
        async with Client.load(kubeconfig=kubeconfig, context=context) as client:
            deadline = asyncio.get_running_loop().time() + wait_s
            while True:
                service = await _service(client, name, namespace)
                found = _ports(service, port)
                trouble = await _trouble(found[0], max(_TRY_S, wait_s / 4))
                if trouble is None:
                    return found
                if asyncio.get_running_loop().time() >= deadline:
                    raise CommandFailed(f"nothing answers at {found[0]['url']} yet: {trouble}")
                await asyncio.sleep(_LOOK_S)
    except ClientError as error:
        raise no_use_of_the_api(error) from None


async def _service(client: Client, name: str, namespace: str | None) -> Service:
    from steersman.objects.resources import SERVICES

    return await client.get(SERVICES, name, namespace)


def _ports(service: Service, wanted: str | None) -> list[dict[str, Any]]:
    """Where the ports of a service answer; only the one that is wanted, if any is."""
    from steersman.objects.stand_ins import answering_port

    spec, name = service["spec"], service["metadata"]["name"]
    address = _address(service)
    if address is None:
        kind = "ExternalName" if spec.get("type") == "ExternalName" else "headless"
        raise CommandFailed(f"the service {name} has no cluster IP: it is {kind}")
    found = []
    for port in spec.get("ports") or ():
        if wanted is not None and wanted not in (port.get("name"), str(port["port"])):
            continue
        number = answering_port(service, port["port"])
        scheme = _scheme(port)
        found.append(
            {
                "name": port.get("name") or "",
                "port": port["port"],
                "protocol": port.get("protocol") or "TCP",
                "address": address,
                "answersAt": number,
                "url": _text(scheme, address, number),
            }
        )
    if not found:
        which = f"port {wanted}" if wanted is not None else "ports"
        raise CommandFailed(f"the service {name} has no {which}")
    return found


def _address(service: Service) -> str | None:
    balancer = (service.get("status") or {}).get("loadBalancer") or {}
    given = [ingress["ip"] for ingress in balancer.get("ingress") or () if ingress.get("ip")]
    own = service["spec"].get("clusterIP")
    return given[0] if given else own if own not in (None, "", "None") else None


def _scheme(port: Mapping[str, Any]) -> str:
    said = {port.get("appProtocol"), port.get("name")}
    if port.get("protocol") not in (None, "TCP"):
        return str(port["protocol"]).lower()
    return "https" if "https" in said or port["port"] == _HTTPS else "http"


def _text(scheme: str, address: str, port: int) -> str:
    host = f"[{address}]" if ":" in address else address
    return f"{scheme}://{host}" + ("" if _USUAL.get(scheme) == port else f":{port}")


async def _trouble(port: Mapping[str, Any], wait_s: float) -> str | None:
    """Why nothing answers there; None if something does, or nobody can know."""
    if port["protocol"] != "TCP":
        return None
    try:
        async with asyncio.timeout(wait_s):
            _, writer = await asyncio.open_connection(port["address"], port["answersAt"])
    except TimeoutError:
        return "no answer; is the cluster on this machine?"
    except OSError as error:
        # asyncio's own words repeat the address.
        return os.strerror(error.errno).lower() if error.errno else one_line(error)
    writer.close()
    return None
