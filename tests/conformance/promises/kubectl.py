"""Real kubectl against the cluster of a test, for promises about what it shows."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.promises.keeping import NAMESPACE
from tests.support.api import ApiClient
from tests.support.kubectl import Done, Kubectl

__all__ = ["AsyncKubectl", "kubectl_for"]


@dataclass(frozen=True, slots=True)
class AsyncKubectl:
    """kubectl that leaves the loop free to answer it."""

    sync: Kubectl

    async def __call__(self, *arguments: str, stdin: Any = None) -> Done:
        return await asyncio.to_thread(self.sync, *arguments, stdin=stdin)

    async def fails(self, *arguments: str, stdin: Any = None) -> str:
        return await asyncio.to_thread(self.sync.fails, *arguments, stdin=stdin)


@asynccontextmanager
async def kubectl_for(client: ApiClient) -> AsyncIterator[AsyncKubectl]:
    if not shutil.which("kubectl"):
        pytest.skip("there is no kubectl on the PATH")
    with tempfile.TemporaryDirectory() as home:
        yield AsyncKubectl(Kubectl(client.cluster.kubeconfig, Path(home), NAMESPACE))
