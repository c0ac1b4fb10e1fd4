"""The options of `steer up`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from steersman.cli.options import LogLevel, Output

__all__ = [
    "AdminTokenOption", "AuditLogOption", "AuditPolicyOption", "AuthenticationOption", "BindOption",
    "ControllersOption", "DataOption", "DisableAdmissionOption", "EnableAdmissionOption",
    "EncryptionKeyOption", "InflightOption", "LogLevelOption", "NewKeysOption", "NodesOption", "OutputOption",
    "PortOption", "RuntimeOption", "ServiceCidrOption", "WaitOption", "WrittenKubeconfigOption",
]  # fmt: skip

DataOption = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="The data folder; :memory: stores nothing on disk.",
        show_default="the user's state folder",
    ),
]
BindOption = Annotated[str, typer.Option(metavar="ADDRESS", help="The address to listen on.")]
PortOption = Annotated[int, typer.Option(metavar="N", help="The port to listen on; 0 selects a free one.")]
WrittenKubeconfigOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="The file to write the kubeconfig to.", show_default="in the data folder"
    ),
]
AdminTokenOption = Annotated[
    str | None,
    typer.Option(
        metavar="TOKEN",
        help="The bearer token of the admin user.",
        envvar="STEER_ADMIN_TOKEN",
        show_default="generated once",
    ),
]
ServiceCidrOption = Annotated[
    str | None,
    typer.Option(
        metavar="CIDR", help="The IP range of the Services' cluster IPs.", show_default="a free one"
    ),
]
EnableAdmissionOption = Annotated[
    str,
    typer.Option(
        metavar="A,B", help="Admission plugins to enable in addition to the default ones.", show_default=False
    ),
]
DisableAdmissionOption = Annotated[
    str, typer.Option(metavar="A,B", help="Admission plugins to disable.", show_default=False)
]
NewKeysOption = Annotated[
    bool,
    typer.Option(
        "--new-keys", help="Generate keys that are missing in the data folder; old tokens become invalid."
    ),
]
NodesOption = Annotated[
    int | None,
    typer.Option(
        metavar="N", help="The number of nodes to run.", min=0, show_default="1, with all controllers"
    ),
]
RuntimeOption = Annotated[
    str,
    typer.Option(
        metavar="process|simulated|MIX",
        help="How pods run: as processes on this machine, simulated, or both, for example "
        "process=1,simulated=3.",
    ),
]
ControllersOption = Annotated[
    str, typer.Option(metavar="none|all|NAMES", help="The controllers to run; -NAME excludes one.")
]
EncryptionKeyOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Keys to encrypt Secrets on disk: 32 bytes each in base64, newest first."
    ),
]
AuthenticationOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="An AuthenticationConfiguration with other token issuers.")
]
AuditPolicyOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="The audit policy (audit.k8s.io/v1 Policy).")
]
AuditLogOption = Annotated[
    str | None, typer.Option(metavar="FILE", help="The file to write audit events to; - is standard output.")
]
InflightOption = Annotated[
    int, typer.Option(metavar="N", help="The maximum number of requests served concurrently.", min=1)
]  # fmt: skip
LogLevelOption = Annotated[
    LogLevel, typer.Option(help="The lowest level of messages to log to standard error.")
]
OutputOption = Annotated[
    Output, typer.Option(help="The output format; json prints one line when the cluster is ready.")
]
WaitOption = Annotated[
    bool, typer.Option("--wait", help="Wait until all nodes are ready.")
]  # fmt: skip
