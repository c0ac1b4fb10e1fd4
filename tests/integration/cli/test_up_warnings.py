"""`steer up` warns of what it accepts and nothing acts on, where it knows that nothing does."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.steer import Answer, Steer, running

pytestmark = pytest.mark.slow

POLICY = {"metadata": {"name": "a"}, "spec": {"podSelector": {}}}
INGRESS = {
    "metadata": {"name": "a"},
    "spec": {"defaultBackend": {"service": {"name": "a", "port": {"number": 80}}}},
}
CLASS = {"metadata": {"name": "mine"}, "spec": {"controller": "example.com/mine"}}
NETWORKING = "/apis/networking.k8s.io/v1"


def made(server: Steer, path: str, obj: dict[str, Any]) -> Answer:
    answer = server.api.post(path, obj)
    assert answer.status == 201, answer.text
    return answer


def test_where_pods_run_everything_is_known() -> None:
    with running("--nodes=1") as server:
        policy = made(server, f"{NETWORKING}/namespaces/default/networkpolicies", POLICY)
        assert policy.headers["Warning"].startswith('299 - "NetworkPolicies are not enforced: ')
        path = f"{NETWORKING}/namespaces/default/ingresses"
        assert (
            made(server, path, INGRESS).headers["Warning"].startswith('299 - "nothing answers at an Ingress')
        )
        made(server, f"{NETWORKING}/ingressclasses", CLASS)
        another = {**INGRESS, "metadata": {"name": "b"}}
        assert "Warning" not in made(server, path, another).headers, "somebody has brought a controller"


@pytest.mark.parametrize(
    "options", [["--nodes=0"], ["--nodes=2", "--runtime=simulated"]], ids=["none", "simulated"]
)
def test_where_somebody_else_may_act_nothing_is_said(options: list[str]) -> None:
    with running(*options) as server:
        for plural, obj in (("networkpolicies", POLICY), ("ingresses", INGRESS)):
            answer = made(server, f"{NETWORKING}/namespaces/default/{plural}", obj)
            assert "Warning" not in answer.headers
