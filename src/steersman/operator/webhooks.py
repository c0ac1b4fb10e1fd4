"""The webhooks of operators in a manager: served by every replica; stored versions migrated by the leader."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from steersman.client import Client, ClientError
from steersman.operator.definition import Definition
from steersman.operator.errors import OperatorError
from steersman.runtime import Manager
from steersman.webhooks import (
    NotMigrated,
    WebhookError,
    WebhookSettings,
    default_names,
    migrate_stored_versions,
    uninstall,
)

__all__ = ["add_webhooks", "uninstall_webhooks"]

_log = logging.getLogger(__name__)

_POLL_S: Final = 1.0
#: Nothing depends on a migration but that an old version can be dropped some day.
_MIGRATE_AGAIN_S: Final = 300.0


def add_webhooks(manager: Manager, definitions: Sequence[Definition[Any]], settings: WebhookSettings) -> None:
    """Have the manager serve what operators declare, if they do. Raises OperatorError."""
    with_hooks = _with_hooks(definitions)
    if settings.address is None or not with_hooks:
        return
    from steersman.webhooks.service import WebhookService

    conversions = {each.resource: each.versions for each in with_hooks if each.versions is not None}
    try:
        service = WebhookService(
            with_hooks[0].name,
            [hook for each in with_hooks for hook in each.hooks],
            conversions,
            manager.client,
            settings=settings,
            metrics=manager.metrics,
            clock=manager.clock,
            is_leader=lambda: manager.is_leader,
        )
    except WebhookError as error:
        raise OperatorError(str(error)) from error
    manager.add_service("webhooks", service.run)
    manager.probes.add_ready("webhooks", service.check)
    for resource in conversions:
        name = f"{resource.plural}.{resource.group}"
        run = partial(_migrate, manager, name, service.is_settled)
        manager.add_service(f"migration of {name}", run, leader_only=True)


async def uninstall_webhooks(
    client: Client, definitions: Sequence[Definition[Any]], settings: WebhookSettings | None = None
) -> list[str]:
    """Remove what operators that run together told the API about their webhooks, and their certificates;
    what was removed. Nothing is asked any more then; objects stay in the versions they are stored in."""
    with_hooks = _with_hooks(definitions)
    if not with_hooks:
        return []
    name = with_hooks[0].name
    return await uninstall(
        client,
        name,
        secret=(settings and settings.secret) or default_names(name)[0],
        namespace=client.namespace,
        converted=[each.resource for each in with_hooks if each.versions is not None],
    )


def _with_hooks(definitions: Sequence[Definition[Any]]) -> list[Definition[Any]]:
    """Those that have webhooks. The first one's name is that of their registration."""
    return [each for each in definitions if each.hooks or each.versions is not None]


async def _migrate(manager: Manager, definition: str, is_settled: Callable[[], bool]) -> None:
    while not is_settled():
        # An API server that does not know of the conversion yet shows old objects as they are in the new
        # version, and would be believed.
        await manager.clock.sleep(_POLL_S)
    while True:
        try:
            await migrate_stored_versions(manager.client, definition)
        except (ClientError, NotMigrated) as error:
            _log.warning("stored versions of %s are not migrated: %s", definition, error)
            await manager.clock.sleep(_MIGRATE_AGAIN_S)
        else:
            return
