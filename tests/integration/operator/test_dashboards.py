"""The dashboard and the alerts in deploy/ speak of metrics that operators really export."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
import yaml

from steersman.objects.custom import CustomResource
from steersman.operator import Context, Operator, Settings
from steersman.testing import Cluster

DEPLOY = Path(__file__).parents[3] / "deploy"

#: What stands in an expression and is no metric.
_STRINGS = re.compile(r'"[^"]*"|\[[^\]]*\]|\b(?:by|on) \([^)]*\)|\{[^}]*\}')
_NAMES = re.compile(r"\b[a-z_:][a-z0-9_:]*\b(?!\s*\()")
_WORDS = frozenset(("and", "or", "by", "on", "e"))


class Tea(CustomResource, group="metrics.example.com", version="v1"):
    pass


op = Operator(Tea)


@op.reconcile
async def reconcile(ctx: Context[Tea]) -> None: ...


@pytest.fixture(scope="module")
def exported() -> set[str]:
    """Names of families and samples on a live /metrics."""
    with Cluster() as cluster:
        running = cluster.run_operator(op, settings=Settings(address="127.0.0.1:0"))
        assert running.manager is not None
        with urlopen(f"http://127.0.0.1:{running.manager.probes.port}/metrics") as answer:
            text = answer.read().decode()
    types = dict(line.split()[2:4] for line in text.splitlines() if line.startswith("# TYPE"))
    samples = {re.split(r"[{ ]", line)[0] for line in text.splitlines() if line and line[0] != "#"}
    for name, kind in types.items():
        suffixes = ("_bucket", "_sum", "_count") if kind == "histogram" else ("",)
        samples |= {name + suffix for suffix in suffixes}
    return samples


def dashboard() -> Any:
    return json.loads((DEPLOY / "grafana" / "operator.json").read_text())


def alerts() -> list[dict[str, Any]]:
    rules = yaml.safe_load((DEPLOY / "prometheus" / "operator-alerts.yaml").read_text())
    return [rule for group in rules["groups"] for rule in group["rules"]]


def expressions() -> Iterator[str]:
    for panel in dashboard()["panels"]:
        for target in panel.get("targets", ()):
            yield target["expr"]
    for rule in alerts():
        yield rule["expr"]


def metrics(expression: str) -> set[str]:
    return set(_NAMES.findall(_STRINGS.sub(" ", expression))) - _WORDS


@pytest.mark.parametrize("expression", list(expressions()), ids=lambda text: " ".join(text.split())[:60])
def test_every_metric_is_exported(expression: str, exported: set[str]) -> None:
    named = metrics(expression)
    assert named
    assert named <= exported


def test_a_name_that_is_not_exported_is_noticed(exported: set[str]) -> None:
    expression = 'sum by (job) (rate(no_such_total{code=~"5.."}[5m])) / workqueue_depth'
    assert metrics(expression) == {"no_such_total", "workqueue_depth"}
    assert not metrics(expression) <= exported


def test_alerts_say_what_is_wrong_and_how_bad_it_is() -> None:
    names = [rule["alert"] for rule in alerts()]
    assert len(names) == len(set(names))
    for rule in alerts():
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert rule["annotations"]["summary"]


def test_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in dashboard()["panels"]:
        at = panel["gridPos"]
        cells = {(at["x"] + column, at["y"] + row) for column in range(at["w"]) for row in range(at["h"])}
        assert at["x"] + at["w"] <= 24
        assert not cells & taken, panel["title"]
        taken |= cells
    assert len({panel["id"] for panel in dashboard()["panels"]}) == len(dashboard()["panels"])
