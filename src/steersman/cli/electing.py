"""`--ha ENGINE`: operators that declare no election take part in one, as the environment says."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from steersman.cli.failure import CommandFailed

if TYPE_CHECKING:
    from steersman.operator import Chain
    from steersman.operator.packaging import Engine

__all__ = ["elect", "engine_named"]


def engine_named(text: str) -> Engine:
    from steersman.operator.packaging import Engine

    try:
        return Engine(text)
    except ValueError:
        raise CommandFailed(f"--ha {text}: choose {', '.join(Engine)}", 2) from None


def elect(operators: Sequence[Chain[Any]], ha: str, name: str | None) -> None:
    """Have them take part. Raises CommandFailed if they declare another election, or something is missing."""
    from steersman.operator import OperatorError
    from steersman.operator.packaging import LOCK_URL, RAFT_HOST, Engine, default_name, take_part

    engine = engine_named(ha)
    url = os.environ.get(LOCK_URL, "")
    if engine in (Engine.REDIS, Engine.POSTGRES) and not url:
        raise CommandFailed(f"--ha {engine} needs the address of its store in {LOCK_URL}")
    namespace = os.environ.get("POD_NAMESPACE", "default")
    try:
        take_part(
            operators,
            engine,
            name=name or default_name(operators),
            namespace=namespace,
            url=url,
            host=os.environ.get(RAFT_HOST, ""),
        )
    except OperatorError as error:
        raise CommandFailed(str(error)) from None
