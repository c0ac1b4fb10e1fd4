"""Order, interest and refusal."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import pytest

from steersman.cluster.admission import PLUGIN_NAMES, AdmissionChain, Attributes, build_chain
from steersman.objects.status import StatusError, bad_request

from .conftest import Stored, write


class Recorder:
    """Writes down when it was asked; cares about one resource."""

    def __init__(self, name: str, log: list[str], plural: str = "pods", *, slow: bool = False) -> None:
        self.name = name
        self._log = log
        self._plural = plural
        self._slow = slow

    def handles(self, operation: str, group: str, plural: str, subresource: str) -> bool:
        self._log.append(f"{self.name}?")
        return plural == self._plural

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        return self._record("admit")

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        return self._record("validate")

    def _record(self, what: str) -> Awaitable[None] | None:
        async def later() -> None:
            await asyncio.sleep(0)
            self._log.append(f"{self.name} {what}")

        if self._slow:
            return later()
        self._log.append(f"{self.name} {what}")
        return None


def test_plugins_are_asked_in_order_even_if_one_takes_its_time() -> None:
    log: list[str] = []
    chain = AdmissionChain(
        [Recorder("a", log, slow=True), Recorder("b", log, "services"), Recorder("c", log)]
    )

    async def run() -> None:
        attributes = write("pods")
        await chain.admit(attributes)
        await chain.validate(attributes)

    asyncio.run(run())
    assert log == ["a?", "b?", "c?", "a admit", "c admit", "a validate", "c validate"]


def test_interest_is_asked_for_once_per_kind_of_write() -> None:
    log: list[str] = []
    chain = AdmissionChain([Recorder("a", log)])

    async def run() -> None:
        for attributes in (write("pods"), write("pods", name="b"), write("pods", operation="DELETE")):
            await chain.admit(attributes)

    asyncio.run(run())
    assert log.count("a?") == 2


def test_a_refusal_ends_the_asking() -> None:
    log: list[str] = []

    class Refuses(Recorder):
        def admit(self, attributes: Attributes) -> None:
            raise bad_request("no")

    chain = AdmissionChain([Refuses("a", log), Recorder("b", log)])
    with pytest.raises(StatusError, match="no"):
        asyncio.run(chain.admit(write("pods")))
    assert "b admit" not in log


def names(chain: AdmissionChain) -> list[str]:
    return [plugin.name for plugin in chain._plugins]


def test_the_built_in_chain_has_kubernetes_order(stored: Stored) -> None:
    built = names(build_chain(stored))
    assert built == [name for name in PLUGIN_NAMES if name in built]
    assert built[0] == "NamespaceLifecycle"


def test_disabled_plugins_are_left_out(stored: Stored) -> None:
    everything = names(build_chain(stored))
    some = names(build_chain(stored, ["Priority", "DefaultIngressClass", "ResourceQuota"]))
    assert set(everything) - set(some) == {"Priority", "DefaultIngressClass"}
    assert names(build_chain(stored, PLUGIN_NAMES)) == []
