"""What the proxy writes down for keepers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from steersman.cluster.proxy.frontends import Frontend
from steersman.cluster.proxy.stand_ins import StandInList
from steersman.runtime import Key

A, B = Key("default", "a"), Key("default", "b")


def said(folder: Path) -> dict[str, Any]:
    return {file.name: json.loads(file.read_text()) for file in folder.iterdir()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "stand-ins"


@pytest.fixture
def stand_ins(folder: Path) -> StandInList:
    return StandInList(folder)


def test_services_that_share_an_address_are_both_there_until_they_go(
    stand_ins: StandInList, folder: Path
) -> None:
    stand_ins.set(
        A, [Frontend("TCP", "10.0.0.1", 8080), Frontend("UDP", "10.0.0.1", 8053)], {80: 8080, 53: 8053}
    )
    stand_ins.set(B, [Frontend("TCP", "10.0.0.1", 8443), Frontend("TCP", "10.0.0.2", 8443)], {443: 8443})
    stand_ins.write()
    assert said(folder) == {
        "10.0.0.1": {"TCP": {"80": 8080, "443": 8443}, "UDP": {"53": 8053}},
        "10.0.0.2": {"TCP": {"443": 8443}},
    }
    stand_ins.set(B, [], {})
    stand_ins.write()
    assert said(folder) == {"10.0.0.1": {"TCP": {"80": 8080}, "UDP": {"53": 8053}}}


def test_a_change_touches_its_own_addresses_only(stand_ins: StandInList, folder: Path) -> None:
    stand_ins.set(A, [Frontend("TCP", "10.0.0.1", 8080)], {80: 8080})
    stand_ins.set(B, [Frontend("TCP", "10.0.0.2", 8080)], {80: 8080})
    stand_ins.write()
    before = {file.name: file.stat().st_ino for file in folder.iterdir()}
    stand_ins.set(A, [Frontend("TCP", "10.0.0.1", 8080)], {80: 8080})
    stand_ins.write()
    assert {file.name: file.stat().st_ino for file in folder.iterdir()} == before
    stand_ins.set(B, [Frontend("TCP", "10.0.0.2", 18080)], {80: 18080})
    (folder / "10.0.0.1").unlink()
    stand_ins.write()
    assert said(folder) == {"10.0.0.2": {"TCP": {"80": 18080}}}


def test_what_an_earlier_proxy_said_stays_until_all_services_are_known(
    stand_ins: StandInList, folder: Path
) -> None:
    folder.mkdir()
    for name in ("10.0.0.1", "10.0.0.9", ".10.0.0.1"):
        (folder / name).write_text("{}")
    stand_ins.set(A, [Frontend("TCP", "10.0.0.1", 8080)], {80: 8080})
    stand_ins.write()
    assert said(folder) == {"10.0.0.1": {"TCP": {"80": 8080}}, "10.0.0.9": {}}
    stand_ins.take_back_others()
    stand_ins.write()
    assert said(folder) == {"10.0.0.1": {"TCP": {"80": 8080}}}


def test_one_address_that_cannot_be_written_does_not_keep_others_from_it(
    stand_ins: StandInList, folder: Path
) -> None:
    (folder / "10.0.0.1").mkdir(parents=True)
    stand_ins.set(A, [Frontend("TCP", "10.0.0.1", 8080)], {80: 8080})
    stand_ins.set(B, [Frontend("TCP", "10.0.0.2", 8080)], {80: 8080})
    for _ in range(2):
        with pytest.raises(IsADirectoryError):
            stand_ins.write()
    assert (folder / "10.0.0.2").exists()
    (folder / "10.0.0.1").rmdir()
    stand_ins.write()
    assert said(folder)["10.0.0.1"] == {"TCP": {"80": 8080}}


def test_without_stand_ins_there_is_no_folder(stand_ins: StandInList, folder: Path) -> None:
    stand_ins.set(A, [Frontend("TCP", "10.0.0.1", 8000)], {})
    stand_ins.take_back_others()
    stand_ins.write()
    assert not folder.exists()
