"""`steer why` and `steer top`: a running operator tells what it did and does."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from typer.testing import CliRunner

from steersman.cli import app as entry
from steersman.cli.failure import CommandFailed
from steersman.objects.builders import ConfigMap
from steersman.objects.custom import CustomResource, Field, Model, ObjectMeta
from steersman.operator import Context, Operator, Settings
from steersman.testing import Cluster, eventually
from tests.support.steer import DEADLINE_S, STEER


class TeaSpec(Model):
    sort: str = Field("green")


class Tea(CustomResource, group="why.example.com", version="v1"):
    spec: TeaSpec = TeaSpec()


op = Operator(Tea).owns(ConfigMap).error_requeue(3600)


@op.reconcile
async def brew(ctx: Context[Tea]) -> None:
    if ctx.resource.spec.sort == "coffee":
        raise ValueError("this is a teapot")
    await ctx.apply(ConfigMap(ctx.name).data("sort", ctx.resource.spec.sort))


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with Cluster() as cluster:
        running = cluster.run_operator(op, settings=Settings(address="127.0.0.1:0"))
        client = cluster.client()
        for name, sort in (("pot", "green"), ("cup", "coffee")):
            tea = Tea(metadata=ObjectMeta(name=name), spec=TeaSpec(sort=sort))
            cluster.run(client.create(tea), timeout_s=20)
        assert running.manager is not None
        results = running.manager._controllers[0].metrics.results

        async def both() -> bool:
            return results["success"] >= 1 and results["error"] >= 1

        cluster.run(eventually(both), timeout_s=30)
        yield f"127.0.0.1:{running.manager.probes.port}"


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(entry.app, arguments)


def test_why_tells_causes_writes_and_ends(address: str) -> None:
    result = invoke("why", "tea/pot", "--address", address)
    assert result.exit_code == 0, result.exception
    first, second = result.stdout.splitlines()[:2]
    assert re.match(r"\d\d:\d\d:\d\d\.\d{3}  success", first)
    assert "  success in " in first
    assert first.endswith("  because added")
    assert second == "    wrote  apply configmaps default/pot"


@pytest.mark.parametrize("kind", ["Tea", "teas", "teas.why.example.com"])
def test_why_for_a_script(address: str, kind: str) -> None:
    result = invoke("why", f"{kind}/cup", "--address", address, "--output", "json")
    [told] = json.loads(result.stdout)
    assert (told["result"], told["error"]) == ("error", "ValueError: this is a teapot")
    assert (told["writes"], told["again_after_s"]) == ([], pytest.approx(3600))


def test_why_of_what_was_never_seen(address: str) -> None:
    result = invoke("why", "tea/kettle", "--address", address)
    assert isinstance(result.exception, CommandFailed)
    assert str(result.exception) == "no reconcile of tea default/kettle is recorded"


def test_top_once(address: str) -> None:
    result = invoke("top", "--address", address, "--once")
    assert result.exit_code == 0, result.exception
    assert "teas.why.example.com" in result.stdout
    assert "ValueError: this is a teapot" in result.stdout


def test_top_without_a_screen_says_it_again_and_again(address: str) -> None:
    command = [str(STEER), "top", "--address", address, "--every", "0.1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as top:
        assert top.stdout is not None
        hanging = threading.Timer(DEADLINE_S, top.kill)
        hanging.start()
        heads = (line for line in top.stdout if line.startswith("CONTROLLER"))
        assert [next(heads, "") for _ in range(3)] == [next(heads)] * 3
        top.send_signal(signal.SIGINT)
        top.stdout.read()
        assert top.wait() == 0
        hanging.cancel()


def test_top_for_a_script(address: str) -> None:
    result = invoke("top", "--address", address, "--once", "--output", "json")
    [replica] = json.loads(result.stdout).values()
    [controller] = replica["controllers"]
    assert replica["leader"] is True
    assert (controller["depth"], controller["concurrency"]) == (0, 8)
    assert {each["object"] for each in controller["slow"]} == {"default/pot", "default/cup"}
    assert [each["object"] for each in controller["failing"]] == ["default/cup"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("why", "tea"), "'tea' is not KIND/NAME, such as webapp/web"),
        (("top",), "give the name of an operator, or --address"),
        (("top", "x", "--output", "json"), "--output json requires --once"),
        (("why", "tea/pot", "--address", "127.0.0.1:1"), "127.0.0.1:1 does not answer"),
    ],
)
def test_what_cannot_be_asked(arguments: tuple[str, ...], said: str) -> None:
    result = invoke(*arguments)
    assert isinstance(result.exception, CommandFailed)
    assert said in str(result.exception)
