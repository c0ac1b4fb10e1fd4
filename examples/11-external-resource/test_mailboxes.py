"""Folders come and go with their objects, whatever happens in between."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import mailboxes
import pytest
from mailboxes import CHECK_EVERY_S, Mailbox, MailboxSpec, MailServer, op

from steersman import Client, ObjectMeta
from steersman.testing import Cluster, virtual_time


@pytest.fixture
def mail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The server's folder; mailboxes are in it."""
    monkeypatch.setattr(mailboxes, "server", MailServer(tmp_path))
    return tmp_path


def folders(mail: Path) -> list[Path]:
    return list(mail.iterdir())


async def make(client: Client, when_deleted: Literal["Delete", "Keep"] = "Delete") -> None:
    spec = MailboxSpec(owner="captain@example.com", when_deleted=when_deleted)
    await client.create(Mailbox(metadata=ObjectMeta(name="captain"), spec=spec))


@virtual_time
async def test_a_folder_lives_as_long_as_its_mailbox(mail: Path) -> None:
    async with Cluster(controllers=()) as cluster, cluster.run_operator(op):
        client = cluster.client()
        await make(client)
        await cluster.clock.settle()
        (folder,) = folders(mail)
        assert (await client.get(Mailbox, "captain")).status.folder == str(folder)
        folder.rmdir()
        await cluster.clock.advance(CHECK_EVERY_S + 1)
        assert folder.exists(), "it is looked after"
        await client.delete(Mailbox, "captain")
        await cluster.clock.settle()
        assert await client.find(Mailbox, "captain") is None
        assert folders(mail) == []


@virtual_time
async def test_a_mailbox_in_use_is_held_until_it_can_go(mail: Path) -> None:
    async with Cluster(controllers=()) as cluster, cluster.run_operator(op):
        client = cluster.client()
        await make(client)
        await cluster.clock.settle()
        (folder,) = folders(mail)
        (folder / "lock").touch()
        await client.delete(Mailbox, "captain")
        await cluster.clock.advance(60)
        (condition,) = (await client.get(Mailbox, "captain")).status.conditions
        assert condition.reason == "InUse"
        (folder / "lock").unlink()
        await cluster.clock.advance(11)
        assert await client.find(Mailbox, "captain") is None
        assert not folder.exists()


@virtual_time
async def test_an_operator_that_was_away_cleans_up_when_it_is_back(mail: Path) -> None:
    async with Cluster(controllers=()) as cluster:
        client = cluster.client()
        first = await cluster.run_operator(op)
        await make(client)
        await cluster.clock.settle()
        await first.kill()
        await client.delete(Mailbox, "captain")
        assert len(folders(mail)) == 1
        async with cluster.run_operator(op):
            await cluster.clock.advance(1)
            assert folders(mail) == []


@virtual_time
async def test_mail_is_kept_if_that_is_wanted(mail: Path) -> None:
    async with Cluster(controllers=()) as cluster, cluster.run_operator(op):
        client = cluster.client()
        await make(client, "Keep")
        await cluster.clock.settle()
        await client.delete(Mailbox, "captain")
        await cluster.clock.settle()
        assert await client.find(Mailbox, "captain") is None
        assert len(folders(mail)) == 1
