"""Strategies of certificates.k8s.io: the server records who requests, never the client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from steersman.cluster.apiserver.resources.strategies.strategy import (
    Strategy,
    Subresource,
    keep,
    status_endpoint,
)
from steersman.objects.kinds import Object
from steersman.objects.times import format_time

__all__ = ["CERTIFICATES", "record_requester"]

_REQUESTER: Final = ("username", "uid", "groups", "extra")


def record_requester(
    request: Object,
    username: str,
    uid: str = "",
    groups: Sequence[str] = (),
    extra: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Write who created a CertificateSigningRequest into it; call after `prepare_create`."""
    values = (username, uid, list(groups), {key: list(items) for key, items in (extra or {}).items()})
    request["spec"] |= {key: value for key, value in zip(_REQUESTER, values, strict=True) if value}


def _forget_requester(request: Object) -> None:
    for key in _REQUESTER:
        request["spec"].pop(key, None)


def _stamp_conditions(new: Object, old: Object) -> None:
    now = format_time(datetime.now(UTC))
    earlier: dict[tuple[str, str], str] = {}
    for condition in old["status"].get("conditions") or ():
        if condition.get("lastTransitionTime"):
            earlier.setdefault(
                (condition.get("type", ""), condition.get("status", "")), condition["lastTransitionTime"]
            )
    for condition in new["status"].get("conditions") or ():
        if not condition.get("lastUpdateTime"):
            condition["lastUpdateTime"] = now
        if not condition.get("lastTransitionTime"):
            key = condition.get("type", ""), condition.get("status", "")
            condition["lastTransitionTime"] = earlier.get(key, now)


def _update_status(new: Object, old: Object) -> None:
    """The status endpoint issues certificates; approving and denying is another's right."""
    for decision in ("Approved", "Denied"):
        before = [c for c in old["status"].get("conditions") or () if c.get("type") == decision]
        conditions = new["status"].get("conditions") or []
        places = [index for index, c in enumerate(conditions) if c.get("type") == decision]
        if len(before) == len(places):
            for index, condition in zip(places, before, strict=True):
                conditions[index] = condition
    _stamp_conditions(new, old)


def _update_approval(new: Object, old: Object) -> None:
    _stamp_conditions(new, old)
    conditions = new["status"].get("conditions")
    keep(new, old, "spec")
    new["status"] = {key: value for key, value in old["status"].items() if key != "conditions"}
    if conditions:
        new["status"]["conditions"] = conditions


_GROUP: Final = "certificates.k8s.io"

CERTIFICATES: Final = (
    Strategy(
        _GROUP,
        "certificatesigningrequests",
        zero_status={},
        on_create=_forget_requester,
        record_user=lambda request, user: record_requester(
            request, user.name, user.uid, user.groups, user.extra
        ),
        on_update=lambda new, old: keep(new, old, "spec"),
        reset_fields=("spec", "status"),
        subresources={
            "status": Subresource(
                status_endpoint(also=_update_status).prepare, ("spec", "status.conditions")
            ),
            "approval": Subresource(_update_approval, ("spec", "status.certificate")),
        },
        fields={"spec.signerName": lambda request: request["spec"].get("signerName", "")},
        selects_namespace=False,
    ),
    Strategy(
        _GROUP,
        "clustertrustbundles",
        allow_unconditional_update=False,
        fields={"spec.signerName": lambda bundle: bundle["spec"].get("signerName", "")},
        selects_namespace=False,
    ),
    Strategy(
        _GROUP,
        "podcertificaterequests",
        zero_status={},
        reset_fields=("status",),
        subresources={"status": status_endpoint("metadata")},
        allow_unconditional_update=False,
        fields={
            "spec.signerName": lambda request: request["spec"].get("signerName", ""),
            "spec.podName": lambda request: request["spec"].get("podName", ""),
            "spec.nodeName": lambda request: request["spec"].get("nodeName", ""),
        },
        selects_namespace=False,
    ),
)
