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
        metavar="DIR", help="Data folder; :memory: keeps nothing.", show_default="the user's state folder"
    ),
]
BindOption = Annotated[str, typer.Option(metavar="ADDRESS", help="Address to listen on.")]
PortOption = Annotated[int, typer.Option(metavar="N", help="Port to listen on; 0 takes a free one.")]
WrittenKubeconfigOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Where to write the kubeconfig.", show_default="in the data folder"),
]
AdminTokenOption = Annotated[
    str | None,
    typer.Option(
        metavar="TOKEN",
        help="The admin's bearer token.",
        envvar="STEER_ADMIN_TOKEN",
        show_default="generated once",
    ),
]
ServiceCidrOption = Annotated[
    str | None, typer.Option(metavar="CIDR", help="Range of service addresses.", show_default="a free one")
]
EnableAdmissionOption = Annotated[
    str,
    typer.Option(metavar="A,B", help="Admission plugins to add that are off by default.", show_default=False),
]
DisableAdmissionOption = Annotated[
    str, typer.Option(metavar="A,B", help="Admission plugins to leave out.", show_default=False)
]
NewKeysOption = Annotated[
    bool,
    typer.Option(
        "--new-keys", help="Make new keys for those missing in the folder; old tokens become invalid."
    ),
]
NodesOption = Annotated[
    int | None,
    typer.Option(metavar="N", help="Nodes to run.", min=0, show_default="1, with all controllers"),
]
RuntimeOption = Annotated[
    str,
    typer.Option(
        metavar="process|simulated|MIX",
        help="What runs pods: processes of this machine, nothing (simulated), or both, as in "
        "process=1,simulated=3.",
    ),
]
ControllersOption = Annotated[
    str, typer.Option(metavar="none|all|NAMES", help="Controllers to run; -NAME leaves one out.")
]
EncryptionKeyOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Encrypt Secrets on disk: base64 keys of 32 bytes, newest first."),
]
AuthenticationOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Other issuers of tokens (AuthenticationConfiguration).")
]
AuditPolicyOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="What to audit (audit.k8s.io/v1 Policy).")
]
AuditLogOption = Annotated[
    str | None, typer.Option(metavar="FILE", help="Where audit events go; - is standard output.")
]
InflightOption = Annotated[
    int, typer.Option(metavar="N", help="Requests served at the same time.", min=1)
]  # fmt: skip
LogLevelOption = Annotated[LogLevel, typer.Option(help="What to log, to standard error.")]
OutputOption = Annotated[Output, typer.Option(help="json: one line of JSON when ready.")]
WaitOption = Annotated[
    bool, typer.Option("--wait", help="Wait until nodes are ready before saying that the cluster is up.")
]  # fmt: skip
