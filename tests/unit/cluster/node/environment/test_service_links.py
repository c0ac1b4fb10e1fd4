"""How containers are told of services."""

from __future__ import annotations

from typing import Any

from steersman.cluster.node.environment import service_variables


def service(namespace: str, name: str, ip: str, *ports: dict[str, Any]) -> dict[str, Any]:
    return {
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"clusterIP": ip, "ports": list(ports)},
    }


API = service("default", "kubernetes", "10.0.0.1", {"name": "https", "port": 443, "protocol": "TCP"})
DB = service("shop", "my-db", "10.0.0.9", {"port": 5432}, {"name": "admin-ui", "port": 53, "protocol": "UDP"})


def test_a_service_is_told_as_kubernetes_and_docker_do() -> None:
    told = service_variables([API, DB], "shop", links=True)
    assert {name: value for name, value in told.items() if name.startswith("MY_DB")} == {
        "MY_DB_SERVICE_HOST": "10.0.0.9",
        "MY_DB_SERVICE_PORT": "5432",
        "MY_DB_SERVICE_PORT_ADMIN_UI": "53",
        "MY_DB_PORT": "tcp://10.0.0.9:5432",
        "MY_DB_PORT_5432_TCP": "tcp://10.0.0.9:5432",
        "MY_DB_PORT_5432_TCP_PROTO": "tcp",
        "MY_DB_PORT_5432_TCP_PORT": "5432",
        "MY_DB_PORT_5432_TCP_ADDR": "10.0.0.9",
        "MY_DB_PORT_53_UDP": "udp://10.0.0.9:53",
        "MY_DB_PORT_53_UDP_PROTO": "udp",
        "MY_DB_PORT_53_UDP_PORT": "53",
        "MY_DB_PORT_53_UDP_ADDR": "10.0.0.9",
    }
    assert told["KUBERNETES_SERVICE_HOST"] == "10.0.0.1"


def test_without_links_only_the_api_is_told() -> None:
    told = service_variables([API, DB], "shop", links=False)
    assert {name.partition("_")[0] for name in told} == {"KUBERNETES"}


def test_services_elsewhere_and_without_an_address_are_not_told() -> None:
    headless = service("shop", "headless", "None", {"port": 1})
    external = {"metadata": {"namespace": "shop", "name": "out"}, "spec": {"externalName": "example.com"}}
    assert service_variables([DB, headless, external], "other", links=True) == {}
    assert service_variables([headless, external], "shop", links=True) == {}


def test_a_service_called_kubernetes_elsewhere_is_not_the_api() -> None:
    fake = service("shop", "kubernetes", "10.6.6.6", {"port": 1})
    assert service_variables([fake], "other", links=True) == {}


def test_ipv6_addresses_are_in_brackets_in_urls_only() -> None:
    told = service_variables([service("n", "s", "fd00::1", {"port": 80})], "n", links=True)
    assert (told["S_SERVICE_HOST"], told["S_PORT"]) == ("fd00::1", "tcp://[fd00::1]:80")
