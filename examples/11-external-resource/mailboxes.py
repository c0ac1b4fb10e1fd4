"""Something outside of the cluster: every Mailbox is a folder on a mail server, and goes with its object.

The cluster deletes children by itself, but knows nothing of folders. A finalizer holds the object until
`on_delete` has cleaned up; if that fails it is tried again, and nothing is left behind.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Annotated, Literal

from steersman import (
    Action,
    Condition,
    Context,
    CustomResource,
    Field,
    Model,
    NewCondition,
    Operator,
    list_map,
)

CHECK_EVERY_S = 300


class MailServer:
    """Stands for the API of a real one. A locked mailbox cannot be removed."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def create(self, mailbox: str) -> Path:
        """Also if it is there already: whoever cannot ask twice cannot be asked again after a crash."""
        folder = self._root / mailbox
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def remove(self, mailbox: str) -> None:
        folder = self._root / mailbox
        if (folder / "lock").exists():
            raise OSError(f"{mailbox} is in use")
        shutil.rmtree(folder, ignore_errors=True)


# Other users of this machine have theirs.
server = MailServer(Path(os.environ.get("MAIL") or Path(tempfile.gettempdir(), f"mail-{os.getuid()}")))


class MailboxSpec(Model):
    owner: str
    #: What becomes of the mail when the Mailbox goes.
    when_deleted: Literal["Delete", "Keep"] = "Delete"


class MailboxStatus(Model):
    folder: str = ""
    conditions: Annotated[list[Condition], list_map("type")] = Field(default_factory=list)


class Mailbox(CustomResource, group="examples.steersman.dev", version="v1", plural="mailboxes"):
    spec: MailboxSpec
    status: MailboxStatus = MailboxStatus()


op = Operator(Mailbox)


@op.reconcile
async def provide(ctx: Context[Mailbox]) -> Action:
    """Nobody tells us when a folder vanishes, so look again now and then."""
    folder = server.create(mailbox(ctx))
    await ctx.set_status(MailboxStatus(folder=str(folder)), NewCondition("Ready", "True", "Provided"))
    return Action.requeue(CHECK_EVERY_S)


@op.on_delete
async def clean_up(ctx: Context[Mailbox]) -> Action | None:
    if ctx.resource.spec.when_deleted == "Keep":
        return None
    try:
        server.remove(mailbox(ctx))
    except OSError as error:
        await ctx.set_condition("Ready", False, "InUse", str(error))
        return Action.requeue(10)
    return None


def mailbox(ctx: Context[Mailbox]) -> str:
    """By the uid: an object of the same name that comes later is another mailbox."""
    return f"{ctx.namespace}-{ctx.name}-{ctx.uid}"


if __name__ == "__main__":
    op.run()
