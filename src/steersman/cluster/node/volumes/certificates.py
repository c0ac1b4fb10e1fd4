"""Pod certificates: requests, waits for and renews the certificates of projected volumes (podCertificate).

    asked ──issued──► shown ──time to renew──► shown, asked again ──issued──► shown
      └──denied or failed──► refused ◄──denied or failed──┘

The key is made here and never leaves the node; the signer gets a PodCertificateRequest with the proof that
there is one. Nothing is kept for a later process: that one asks anew, and until then the pod has its files.
Keys are never logged.
"""

from __future__ import annotations

import asyncio
import logging
import random
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.aio import Clock
from steersman.client import Client, ClientError
from steersman.cluster.node.volumes.errors import VolumeProblem
from steersman.cluster.node.volumes.references import ObjectReference, References
from steersman.objects.fields import quote
from steersman.objects.kinds.types.core_v1 import Pod
from steersman.objects.resource_type import ResourceType
from steersman.objects.resources import NODES, POD_CERTIFICATE_REQUESTS, SERVICE_ACCOUNTS
from steersman.objects.times import parse_time

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import CertificateIssuerPrivateKeyTypes

__all__ = ["PodCertificates", "PodCredentials", "certificate_requests_of"]

_log = logging.getLogger(__name__)

Source = Mapping[str, Any]

#: Certificates that were made together are not all renewed together.
_JITTER_S: Final = 300.0
#: A request that has not been seen for so long was deleted.
_GONE_S: Final = 600.0
#: So late a renewal is told of.
_OVERDUE_S: Final = 600.0
#: How soon a renewal that waits or failed is looked at again.
_AGAIN_S: Final = 60.0
_PATHS: Final = ("credentialBundlePath", "keyPath", "certificateChainPath")


class PodCredentials(NamedTuple):
    """A key and certificate chain, as PEM."""

    key: bytes
    chain: bytes
    #: When to ask for them again (wall clock).
    renew_at: float


@dataclass(slots=True, repr=False)
class _Issued:
    """An issued certificate and its renewal time."""

    key: bytes
    chain: bytes
    renew_at: float
    expires_at: float
    #: The reasons of the events that people were told of.
    told: set[str]


@dataclass(slots=True, repr=False)
class _Asked:
    """A pending PodCertificateRequest."""

    name: str
    key: bytes
    gone_at: float


@dataclass(slots=True, repr=False)
class _Slot:
    """The certificate of one projection of a volume."""

    issued: _Issued | None = None
    asked: _Asked | None = None
    #: Why there will never be another.
    refused: str = ""


def certificate_requests_of(pod: Pod) -> ObjectReference:
    """The requests that were made for a pod. A node may look only at its own."""
    name, node = pod["metadata"]["name"], pod["spec"]["nodeName"]
    return ObjectReference(
        POD_CERTIFICATE_REQUESTS, pod["metadata"]["namespace"], f"spec.nodeName={node},spec.podName={name}"
    )


class PodCertificates:
    """The certificates of the pods of one node."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        references: References,
        warn: Callable[[dict[str, Any], str, str], None],
        rand: Callable[[], float] = random.random,
    ) -> None:
        """`references` has the requests of every pod that is asked for; `warn` tells people about a pod:
        a reason and a sentence."""
        self._client = client
        self._clock = clock
        self._references = references
        self._warn = warn
        self._rand = rand
        self._slots: dict[tuple[str, str, str], _Slot] = {}

    async def get(self, pod: Pod, volume: str, source: Source) -> PodCredentials:
        """What a volume has to show now. Raises `VolumeProblem` while there is nothing, `NotRead`."""
        place = next(source[field] for field in _PATHS if source.get(field))
        slot = self._slots.setdefault((pod["metadata"]["uid"], volume, place), _Slot())
        # Only who looks already is told of what comes.
        known = await self._references.all(certificate_requests_of(pod))
        self._settle(pod, slot, known)
        if slot.refused:
            raise VolumeProblem(slot.refused)
        now = self._clock.wall()
        if slot.asked is None and (slot.issued is None or now >= slot.issued.renew_at):
            await self._ask(pod, slot, source)
        if slot.issued is None:
            raise VolumeProblem("credential bundle is not issued yet")
        self._complain(pod, slot.issued, now)
        renew_at = slot.issued.renew_at if now < slot.issued.renew_at else now + _AGAIN_S
        return PodCredentials(slot.issued.key, slot.issued.chain, renew_at)

    def forget(self, uid: str) -> None:
        """A pod is over."""
        for slot in [slot for slot in self._slots if slot[0] == uid]:
            del self._slots[slot]

    # --- what became of a request

    def _settle(self, pod: Pod, slot: _Slot, known: list[dict[str, Any]]) -> None:
        asked = slot.asked
        if asked is None:
            return
        request = next((one for one in known if one["metadata"]["name"] == asked.name), None)
        if request is None:
            if self._clock.wall() > asked.gone_at:
                slot.asked = None
            return
        status = request.get("status") or {}
        for condition in status.get("conditions") or ():
            match condition["type"]:
                case "Issued":
                    slot.asked, slot.issued = None, self._issued(asked.key, status)
                case "Denied" | "Failed" as kind:
                    slot.asked, slot.refused = None, self._refused(pod, request, kind, condition)

    def _issued(self, key: bytes, status: Mapping[str, Any]) -> _Issued:
        begin, end = (parse_time(status[field]).timestamp() for field in ("beginRefreshAt", "notAfter"))
        return _Issued(key, _clean(status["certificateChain"]), begin + self._jitter_s(), end, set())

    def _refused(self, pod: Pod, request: Mapping[str, Any], kind: str, condition: Mapping[str, Any]) -> str:
        reason, message = (quote(condition.get(field, "")) for field in ("reason", "message"))
        name = f"{pod['metadata']['namespace']}/{request['metadata']['name']}"
        done = "was denied" if kind == "Denied" else "failed"
        self._warn(
            dict(pod), kind, f"PodCertificateRequest {name} {done}, reason={reason}, message={message}"
        )
        return f"PodCertificateRequest was permanently {kind.lower()}: reason={reason} message={message}"

    def _complain(self, pod: Pod, issued: _Issued, now: float) -> None:
        """Say once that a certificate is older than it should be."""
        for since, reason, note in (
            (issued.renew_at + _OVERDUE_S, "CertificateOverdueForRefresh", "PodCertificate refresh overdue"),
            (issued.expires_at, "CertificateExpired", "PodCertificate expired"),
        ):
            if now > since and reason not in issued.told:
                issued.told.add(reason)
                self._warn(dict(pod), reason, note)

    def _jitter_s(self) -> float:
        return self._rand() * _JITTER_S

    # --- asking

    async def _ask(self, pod: Pod, slot: _Slot, source: Source) -> None:
        key, request = await asyncio.to_thread(_key_and_request, source["keyType"])
        try:
            name = await self._request(pod, source, request)
        except ClientError as error:
            which = "initial" if slot.issued is None else "refresh"
            problem = f"while creating {which} PodCertificateRequest: {error}"
            if slot.issued is None:
                raise VolumeProblem(problem) from error
            _log.warning("pod %s/%s: %s", pod["metadata"]["namespace"], pod["metadata"]["name"], problem)
            return
        slot.asked = _Asked(name, key, self._clock.wall() + _GONE_S + self._jitter_s())

    async def _request(self, pod: Pod, source: Source, request: bytes) -> str:
        metadata, node = pod["metadata"], pod["spec"]["nodeName"]
        account = pod["spec"].get("serviceAccountName") or "default"
        spec: dict[str, Any] = {
            "signerName": source["signerName"],
            "podName": metadata["name"],
            "podUID": metadata["uid"],
            "serviceAccountName": account,
            "serviceAccountUID": await self._uid(SERVICE_ACCOUNTS, account, metadata["namespace"]),
            "nodeName": node,
            "nodeUID": await self._uid(NODES, node),
            "stubPKCS10Request": b64encode(request).decode(),
        }
        if (seconds := source.get("maxExpirationSeconds")) is not None:
            spec["maxExpirationSeconds"] = seconds
        if annotations := source.get("userAnnotations"):
            spec["unverifiedUserAnnotations"] = annotations
        owner = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}
        named = {"namespace": metadata["namespace"], "generateName": "req-", "ownerReferences": [owner]}
        made = await self._client.create({"metadata": named, "spec": spec}, kind=POD_CERTIFICATE_REQUESTS)
        return str(made["metadata"]["name"])

    async def _uid(self, kind: ResourceType, name: str, namespace: str | None = None) -> str:
        return str((await self._client.get(kind, name, namespace))["metadata"]["uid"])


# --- keys; who needs none does not pay for loading this


def _key_and_request(key_type: str) -> tuple[bytes, bytes]:
    """A key (PEM) and the proof of having it (DER): a request that says nothing else."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    kinds: dict[str, tuple[Callable[[], CertificateIssuerPrivateKeyTypes], Any]] = {
        "RSA3072": (lambda: rsa.generate_private_key(65537, 3072), hashes.SHA256()),
        "RSA4096": (lambda: rsa.generate_private_key(65537, 4096), hashes.SHA256()),
        "ECDSAP256": (lambda: ec.generate_private_key(ec.SECP256R1()), hashes.SHA256()),
        "ECDSAP384": (lambda: ec.generate_private_key(ec.SECP384R1()), hashes.SHA384()),
        "ECDSAP521": (lambda: ec.generate_private_key(ec.SECP521R1()), hashes.SHA512()),
        "ED25519": (ed25519.Ed25519PrivateKey.generate, None),
    }
    if key_type not in kinds:
        raise VolumeProblem(f"while generating keypair: unknown key type {quote(key_type)}")
    make, digest = kinds[key_type]
    key = make()
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return pem, builder.sign(key, digest).public_bytes(serialization.Encoding.DER)


def _clean(chain: str) -> bytes:
    """Certificates and nothing between them."""
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization

    found = x509.load_pem_x509_certificates(chain.encode())
    return b"".join(one.public_bytes(serialization.Encoding.PEM) for one in found)
