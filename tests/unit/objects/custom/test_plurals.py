"""Kinds in the plural."""

from __future__ import annotations

import pytest

from steersman.objects.custom.plurals import plural_of


@pytest.mark.parametrize(
    "kind, plural",
    [
        ("WebApp", "webapps"),
        ("Policy", "policies"),
        ("NetworkPolicy", "networkpolicies"),
        ("Gateway", "gateways"),
        ("Query", "queries"),
        ("Proxy", "proxies"),
        ("Index", "indices"),
        ("SearchIndex", "searchindices"),
        ("Matrix", "matrices"),
        ("Analysis", "analyses"),
        ("Basis", "bases"),
        ("Ingress", "ingresses"),
        ("StorageClass", "storageclasses"),
        ("Status", "statuses"),
        ("Batch", "batches"),
        ("Mesh", "meshes"),
        ("Box", "boxes"),
        ("Database", "databases"),
        ("Cache", "caches"),
        ("Quota", "quotas"),
        ("Repo", "repos"),
        ("Child", "children"),
        ("Bus", "buses"),
        ("EventBus", "eventbuses"),
        ("Minibus", "minibuses"),
        ("Leaf", "leaves"),
        ("Endpoints", "endpoints"),
        ("AppSettings", "appsettings"),
        ("ObjectMetadata", "objectmetadata"),
        ("VM", "vms"),
        ("KeyVM", "keyvms"),
        ("DNS", "dns"),
        ("Ec2Key", "ec2keys"),
        ("V2", "v2s"),
    ],
)
def test_plural(kind: str, plural: str) -> None:
    assert plural_of(kind) == plural
