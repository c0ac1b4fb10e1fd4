"""`steer raft`: ask a running Raft node how it is, and tell it what to do; read and write the nodes' state.

The node is reached on the port that the members use. With certificates, the command shows one of them: inside
a pod, the node's own.
"""

from __future__ import annotations

import json
import os
import sys
from base64 import b64encode
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from steersman.cli.failure import CommandFailed, one_line
from steersman.cli.options import Output
from steersman.cli.process import run_briefly

if TYPE_CHECKING:
    from steersman.raft.client import RaftClient
    from steersman.raft.state_machine import Located
    from steersman.raft.transport import NodeReport, Order
    from steersman.raft.transport.tls import TlsFiles

__all__ = ["raft"]

T = TypeVar("T")

_EXAMPLES = """Inspect and operate the nodes of a Raft cluster.

Examples:

\b
  steer raft status                            the node on this machine
  steer raft transfer 2 --tls /etc/raft-tls    make node 2 the leader
  steer raft snapshot --output json
  steer raft put greeting hello                write to the replicated state
  steer raft get greeting

\b
  kubectl exec web-0 -- steer raft members --tls /etc/raft-tls
"""

Address = Annotated[
    str,
    typer.Option(metavar="HOST:PORT", help="The Raft address of a node (the port that other members use)."),
]
Tls = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="The folder with a member's ca.crt, tls.crt and tls.key.",
        show_default="plaintext",
    ),
]
Name = Annotated[
    str,
    typer.Option(
        "--server-name",
        metavar="NAME",
        help="The name to expect in the node's certificate.",
        show_default="the host's; of an IP address, that of tls.crt",
    ),
]
Format = Annotated[
    Output, typer.Option("--output", help="The output format: text for people, JSON for scripts.")
]

_ADDRESS = "127.0.0.1:7100"

raft = typer.Typer(help=_EXAMPLES, no_args_is_help=True, rich_markup_mode=None)


@raft.command()
def status(
    address: Address = _ADDRESS, tls: Tls = None, name: Name = "", output: Format = Output.TEXT
) -> None:
    """Show the status of a node: role, term, leader, log.

    Example: steer raft status --address 127.0.0.1:7100
    """
    report = _order("status", address, tls, name)
    _show(report, output, _status_lines(report))


@raft.command()
def members(
    address: Address = _ADDRESS, tls: Tls = None, name: Name = "", output: Format = Output.TEXT
) -> None:
    """List the members and their replication progress.

    The leader knows that; it is found by asking the node at ADDRESS.

    Example: steer raft members --tls /etc/raft-tls
    """
    report = _order("status", address, tls, name, of_leader=True)
    rows = [("NODE", "NAME", "ADDRESS", "ROLE", "LOG")]
    rows += [
        (str(m.node), m.name, m.address, m.role, "-" if m.match is None else str(m.match))
        for m in report.members
    ]
    _show(report, output, _table(rows))


@raft.command()
def transfer(
    node: Annotated[
        int | None,
        typer.Argument(metavar="NODE", help="The ID of the node to make the leader.", show_default="any"),
    ] = None,
    address: Address = _ADDRESS,
    tls: Tls = None,
    name: Name = "",
    output: Format = Output.TEXT,
) -> None:
    """Transfer leadership to another node. The node at ADDRESS names the current leader.

    Example: steer raft transfer 2
    """
    report = _order("transfer", address, tls, name, to_node=node, of_leader=True)
    _show(report, output, [f"{report.leader} leads in term {report.term}"])


@raft.command()
def snapshot(
    address: Address = _ADDRESS, tls: Tls = None, name: Name = "", output: Format = Output.TEXT
) -> None:
    """Compact the log of a node into a snapshot.

    Example: steer raft snapshot --address 127.0.0.1:7100
    """
    report = _order("snapshot", address, tls, name)
    _show(report, output, [f"{report.name} has a snapshot up to index {report.snapshot_index}"])


Key = Annotated[str, typer.Argument(metavar="KEY", help="A key of the replicated state.", show_default=False)]
Over = Annotated[
    int | None,
    typer.Option(
        metavar="VERSION",
        help="Write only if the key has this version; 0: only if it does not exist.",
        show_default="any",
    ),
]


@raft.command()
def get(
    key: Key, address: Address = _ADDRESS, tls: Tls = None, name: Name = "", output: Format = Output.TEXT
) -> None:
    """Print the value of a key (a linearizable read). The node at ADDRESS names the current leader.

    Example: steer raft get greeting --output json
    """
    value = _state(address, tls, name, lambda client: client.get(key))
    if value is None:
        raise CommandFailed(f"key {key!r} not found")
    if output is Output.JSON:
        sys.stdout.write(json.dumps({"key": key, **_shown(value.data), "version": value.version}) + "\n")
    else:
        sys.stdout.buffer.write(value.data + b"\n")


@raft.command()
def put(
    key: Key,
    value: Annotated[str, typer.Argument(metavar="VALUE", help="The value, as text.", show_default=False)],
    over: Over = None,
    address: Address = _ADDRESS,
    tls: Tls = None,
    name: Name = "",
    output: Format = Output.TEXT,
) -> None:
    """Write a key and wait for a majority of the nodes. The node at ADDRESS names the current leader.

    Example: steer raft put greeting hello --over 0
    """
    held = _state(address, tls, name, lambda client: client.put(key, value.encode(), over=over))
    _written(key, held, over, output)


@raft.command()
def delete(
    key: Key,
    over: Over = None,
    address: Address = _ADDRESS,
    tls: Tls = None,
    name: Name = "",
    output: Format = Output.TEXT,
) -> None:
    """Delete a key. The node at ADDRESS names the current leader.

    Example: steer raft delete greeting
    """
    held = _state(address, tls, name, lambda client: client.delete(key, over=over))
    _written(key, held, over, output)


def _shown(data: bytes) -> dict[str, str]:
    try:
        return {"value": data.decode()}
    except UnicodeDecodeError:
        return {"base64": b64encode(data).decode()}


def _written(key: str, held: bool, over: int | None, output: Output) -> None:
    if not held:
        found = "already exists" if over == 0 else f"does not have version {over}"
        raise CommandFailed(f"nothing was changed: {key} {found}")
    if output is Output.JSON:
        sys.stdout.write(json.dumps({"key": key}) + "\n")


def _state(address: str, folder: Path | None, name: str, use: Callable[[RaftClient], Awaitable[T]]) -> T:
    """What a client of the nodes' state is answered."""

    async def ask(at: Located, tls: TlsFiles | None) -> T:
        from steersman.raft.client import RaftClient

        async with RaftClient([f"{at.name}={at.address}"], tls=tls) as client:
            return await use(client)

    return _talk(address, folder, name, ask)


def _order(
    action: str,
    address: str,
    folder: Path | None,
    name: str,
    *,
    to_node: int | None = None,
    of_leader: bool = False,
) -> NodeReport:
    """What the node, or with `of_leader` the one that leads, answers."""
    from steersman.raft.transport import Order

    return _talk(
        address, folder, name, lambda at, tls: _ask(at, tls, Order(action, to_node), of_leader=of_leader)
    )


def _talk(
    address: str,
    folder: Path | None,
    name: str,
    ask: Callable[[Located, TlsFiles | None], Coroutine[Any, Any, T]],
) -> T:
    # gRPC reports every connection that fails, unless told not to before it is loaded.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    try:
        import grpc  # type: ignore[import-untyped] # noqa: F401
    except ModuleNotFoundError:
        raise CommandFailed("Raft needs more packages: pip install 'steersman[raft]'") from None
    from steersman.raft.errors import NodeError, OutcomeUnknown, PeerUnavailable
    from steersman.raft.transport.tls import TlsFiles

    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise CommandFailed(f"--address: {address!r} is not HOST:PORT", 2)
    tls = TlsFiles.folder(folder) if folder is not None else None
    try:
        return run_briefly(ask(_located(address, host.strip("[]"), tls, name), tls))
    except OutcomeUnknown as error:
        raise CommandFailed(f"the outcome is unknown: {one_line(error)}") from None
    except NodeError as error:
        text = one_line(error)
        if tls is None and isinstance(error, PeerUnavailable) and not _heard(text):
            text += " (a node with certificates needs --tls)"
        raise CommandFailed(text) from None


def _heard(failure: str) -> bool:
    """Whether it says that the machine answered, and that is not what it says to the wrong protocol."""
    return "refused" in failure or "does not lead" in failure


def _located(address: str, host: str, tls: TlsFiles | None, name: str) -> Located:
    from steersman.raft.state_machine import Located

    if not name and tls is not None:
        name = _own_name(tls) if _is_bare(host) else host
    return Located(name or "the node", address)


def _is_bare(host: str) -> bool:
    """Whether it is no name that a certificate would be for."""
    try:
        ip_address(host)
    except ValueError:
        return host == "localhost"
    return True


def _own_name(tls: TlsFiles) -> str:
    """The first name of the certificate: inside a pod, that of the node beside."""
    from cryptography import x509

    pem = tls.read().cert
    try:
        certificate = x509.load_pem_x509_certificate(pem)
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound):
        raise CommandFailed(f"{tls.cert} is not a certificate with a name in it; use --server-name") from None
    # Whatever stands for `*` will do.
    return next((name.replace("*", "node") for name in names.get_values_for_type(x509.DNSName)), "")


async def _ask(at: Located, tls: TlsFiles | None, order: Order, *, of_leader: bool) -> NodeReport:
    from steersman.raft.state_machine import Located
    from steersman.raft.transport import Order as AnyOrder

    if not of_leader:
        return await _obeyed(at, tls, order)
    report = await _obeyed(at, tls, AnyOrder("status"))
    if not report.leader:
        raise CommandFailed(f"{report.name} does not know a leader")
    if report.role != "leader":
        at = Located(report.leader, report.leader_at)
    elif order.action == "status":
        return report
    return await _obeyed(at, tls, order)


async def _obeyed(at: Located, tls: TlsFiles | None, order: Order) -> NodeReport:
    from steersman.raft.transport import OrderReply
    from steersman.raft.transport.channels import ask

    reply = await ask(at, tls, "Order", order, OrderReply)
    if reply.report is None:
        raise CommandFailed(f"{at.address}: {reply.refused}")
    return reply.report


def _show(report: NodeReport, output: Output, lines: Iterable[str]) -> None:
    import msgspec

    if output is Output.JSON:
        sys.stdout.write(json.dumps(msgspec.to_builtins(report)) + "\n")
    else:
        sys.stdout.write("".join(f"{line}\n" for line in lines))


def _status_lines(report: NodeReport) -> Sequence[str]:
    if not report.cluster_id:
        return [f"node {report.node} ({report.name}) is not a member of the cluster {report.cluster} yet"]
    votes = sum(member.role != "learner" for member in report.members)
    return _table(
        [
            ("cluster", f"{report.cluster} ({report.cluster_id})"),
            ("node", f"{report.node} ({report.name}), {report.role}"),
            ("leader", f"{report.leader or 'not known'}, term {report.term}"),
            ("members", f"{votes} vote, {len(report.members) - votes} learn"),
            (
                "log",
                f"{report.first_index} to {report.last_index}, committed to {report.commit_index}, "
                f"applied to {report.applied_index}, snapshot of {report.snapshot_index}",
            ),
            ("lateness", f"{1000 * report.tick_late_max_s:.0f} ms at most"),
        ]
    )


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
