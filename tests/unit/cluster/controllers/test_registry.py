from __future__ import annotations

from importlib import import_module

import pytest

from steersman.cluster.controllers.registry import CLOUD, CONTROLLERS, IN_SERVER, SCHEDULER, chosen

EVERYTHING = {*CONTROLLERS, *IN_SERVER, *CLOUD, SCHEDULER}


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        (["all"], EVERYTHING),
        (["none"], set()),
        ([], set()),
        (["deployment", SCHEDULER], {"deployment", SCHEDULER}),
        (["-deployment"], EVERYTHING - {"deployment"}),
        (["all", "-deployment", "-replicaset"], EVERYTHING - {"deployment", "replicaset"}),
        (["deployment", "-deployment"], set()),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, list) else "",
)
def test_what_names_mean(asked: list[str], meant: set[str]) -> None:
    assert chosen(asked) == meant


def test_an_unknown_name_is_told():
    with pytest.raises(ValueError, match="there is no controller nothing"):
        chosen(["all", "-nothing"])


@pytest.mark.parametrize("module", sorted(set(CONTROLLERS.values())))
def test_every_controller_can_be_made(module: str) -> None:
    assert callable(import_module(f"steersman.cluster.controllers.{module}").add)
