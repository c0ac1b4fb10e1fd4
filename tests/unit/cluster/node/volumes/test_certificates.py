"""When certificates are asked for, and what if there is no good answer."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from steersman.client import Client, Unreachable
from steersman.cluster.auth.pki import StoredAuthority
from steersman.cluster.node.volumes.certificates import (
    PodCertificates,
    PodCredentials,
    certificate_requests_of,
)
from steersman.cluster.node.volumes.errors import VolumeProblem
from steersman.cluster.node.volumes.references import ObjectReference, References
from steersman.objects.resource_type import ResourceType
from steersman.objects.times import format_time

Object = dict[str, Any]

HOUR_S = 3600.0
CHAIN = StoredAuthority.make("leaf").pem.decode()
POD: Object = {
    "metadata": {"namespace": "ns", "name": "p", "uid": "uid-1"},
    "spec": {"nodeName": "n", "serviceAccountName": "robot"},
}
SOURCE: Object = {"signerName": "a.b/c", "keyType": "ECDSAP256", "credentialBundlePath": "own.pem"}
NOT_YET = "credential bundle is not issued yet"


class Clock:
    """Shows the time it is told to."""

    def __init__(self) -> None:
        self.now = 1_780_000_000.0

    def wall(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, delay_s: float) -> None:
        raise AssertionError("nothing sleeps here")


class Api:
    """Keeps requests like the API, while it is there; a test is the signer."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.requests: list[Object] = []
        self.there = True

    async def get(self, kind: ResourceType, name: str, namespace: str | None = None) -> Object:
        if not self.there:
            raise Unreachable("nobody is there", maybe_done=False)
        return {"metadata": {"uid": f"uid of {name}"}}

    async def create(self, obj: Object, *, kind: ResourceType) -> Object:
        made = {**obj, "metadata": {**obj["metadata"], "name": f"req-{len(self.requests)}"}}
        self.requests.append(made)
        return made

    async def all(self, reference: ObjectReference) -> list[Object]:
        assert reference == certificate_requests_of(POD)
        assert reference.fields == "spec.nodeName=n,spec.podName=p"
        return self.requests

    def issue(self) -> None:
        times = {"notBefore": -120.0, "beginRefreshAt": HOUR_S, "notAfter": 2 * HOUR_S}
        shown = {field: self._clock.now + after_s for field, after_s in times.items()}
        status = {field: format_time(datetime.fromtimestamp(at, UTC)) for field, at in shown.items()}
        chain = f"# said before\n{CHAIN}"
        self.end("Issued", certificateChain=chain, **status)

    def end(self, kind: str, **status: str) -> None:
        condition = {"type": kind, "status": "True", "reason": "Because", "message": "of that"}
        self.requests[-1]["status"] = {"conditions": [condition], **status}


class World:
    def __init__(self) -> None:
        self.clock = Clock()
        self.api = Api(self.clock)
        self.warned: list[tuple[str, str]] = []
        self.certificates = PodCertificates(
            cast(Client, self.api),
            self.clock,
            cast(References, self.api),
            lambda _, reason, note: self.warned.append((reason, note)),
            rand=lambda: 0.0,
        )

    def get(self, **source: Any) -> PodCredentials:
        return asyncio.run(self.certificates.get(POD, "tls", {**SOURCE, **source}))

    def problem(self, **source: Any) -> str:
        with pytest.raises(VolumeProblem) as raised:
            self.get(**source)
        return str(raised.value)

    def issued(self) -> PodCredentials:
        """The first certificate."""
        assert self.problem() == NOT_YET
        self.api.issue()
        return self.get()


def test_a_request_says_whose_it_is() -> None:
    world = World()
    assert world.problem(maxExpirationSeconds=3600, userAnnotations={"a/b": "c"}) == NOT_YET
    (made,) = world.api.requests
    assert made["metadata"] == {
        "namespace": "ns",
        "name": "req-0",
        "generateName": "req-",
        "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "uid-1"}],
    }
    proof = x509.load_der_x509_csr(b64decode(made["spec"].pop("stubPKCS10Request")))
    assert proof.is_signature_valid
    assert made["spec"] == {
        "signerName": "a.b/c",
        "podName": "p",
        "podUID": "uid-1",
        "serviceAccountName": "robot",
        "serviceAccountUID": "uid of robot",
        "nodeName": "n",
        "nodeUID": "uid of n",
        "maxExpirationSeconds": 3600,
        "unverifiedUserAnnotations": {"a/b": "c"},
    }


@pytest.mark.parametrize("kind", ["ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519", "RSA3072"])
def test_the_key_is_the_one_that_was_proved(kind: str) -> None:
    world = World()
    assert world.problem(keyType=kind) == NOT_YET
    world.api.issue()
    key = serialization.load_pem_private_key(world.get(keyType=kind).key, None)
    proof = x509.load_der_x509_csr(b64decode(world.api.requests[0]["spec"]["stubPKCS10Request"]))
    assert proof.is_signature_valid
    assert proof.public_key() == key.public_key()


def test_nothing_is_asked_for_twice() -> None:
    world = World()
    first = world.issued()
    assert first.chain == CHAIN.encode()
    assert first.renew_at == world.clock.now + HOUR_S
    assert world.get() == first
    assert len(world.api.requests) == 1


def test_a_certificate_is_renewed_while_the_old_one_is_shown() -> None:
    world = World()
    first = world.issued()
    world.clock.now += HOUR_S
    waiting = world.get()
    assert (waiting.key, waiting.chain) == (first.key, first.chain)
    assert waiting.renew_at > world.clock.now
    world.get()
    assert len(world.api.requests) == 2
    world.api.issue()
    assert world.get().key != first.key


@pytest.mark.parametrize(
    ("kind", "done", "permanently"), [("Denied", "was denied", "denied"), ("Failed", "failed", "failed")]
)
@pytest.mark.parametrize("before", ["never issued", "issued before"])
def test_a_refusal_is_final(kind: str, done: str, permanently: str, before: str) -> None:
    world = World()
    if before == "issued before":
        world.issued()
        world.clock.now += HOUR_S
        world.get()
    else:
        assert world.problem() == NOT_YET
    world.api.end(kind)
    asked = len(world.api.requests)
    expected = f'PodCertificateRequest was permanently {permanently}: reason="Because" message="of that"'
    assert [world.problem(), world.problem()] == [expected, expected]
    assert len(world.api.requests) == asked
    name = f"ns/req-{asked - 1}"
    assert world.warned == [
        (kind, f'PodCertificateRequest {name} {done}, reason="Because", message="of that"')
    ]


def test_a_request_that_was_deleted_is_made_again() -> None:
    world = World()
    assert world.problem() == NOT_YET
    world.api.requests[0]["metadata"]["name"] = "another"
    world.clock.now += 590
    assert world.problem() == NOT_YET
    assert len(world.api.requests) == 1
    world.clock.now += 20
    assert world.problem() == NOT_YET
    assert len(world.api.requests) == 2


def test_the_old_one_stays_while_the_api_is_away_and_people_are_told_once() -> None:
    world = World()
    world.api.there = False
    assert "while creating initial PodCertificateRequest" in world.problem()
    world.api.there = True
    first = world.issued()
    world.api.there = False
    for after_s in (HOUR_S, 601.0, HOUR_S, 1.0):
        world.clock.now += after_s
        assert world.get().key == first.key
    assert [reason for reason, _ in world.warned] == ["CertificateOverdueForRefresh", "CertificateExpired"]


def test_a_pod_that_is_over_is_forgotten() -> None:
    world = World()
    world.issued()
    world.certificates.forget("uid-1")
    assert world.problem() == NOT_YET
    assert len(world.api.requests) == 2
