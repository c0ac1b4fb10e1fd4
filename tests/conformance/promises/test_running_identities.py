"""Promises about who a pod is: its tokens, its certificates, and whom it trusts."""

from __future__ import annotations

from base64 import b64decode
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from steersman.cluster.auth.jwt import VerificationKey, parse
from steersman.cluster.auth.pki import StoredAuthority
from steersman.objects.resource_type import ResourceType
from steersman.objects.resources import EVENTS, PODS, SERVICES
from steersman.objects.times import format_time
from steersman.testing import eventually

from .running import NAMESPACE, PATIENCE_S, Object, Running, promise, promised, script

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
TRUST_BUNDLES = ResourceType(
    "certificates.k8s.io", "v1", "ClusterTrustBundle", "clustertrustbundles", namespaced=False
)
CERTIFICATE_REQUESTS = ResourceType(
    "certificates.k8s.io", "v1", "PodCertificateRequest", "podcertificaterequests"
)


def projected(*sources: Object) -> Object:
    return {"projected": {"sources": list(sources)}}


async def look(running: Running, name: str, text: str, *volumes: Object, **spec: Any) -> None:
    """Start a pod with volumes at /v0, /v1, … whose last word is what the script prints."""
    mounts = [{"name": f"v{number}", "mountPath": f"/v{number}"} for number in range(len(volumes))]
    container = script(f"{{ {text}\n}} > /dev/termination-log", volumeMounts=mounts)
    named = [{"name": f"v{number}", **volume} for number, volume in enumerate(volumes)]
    await running.pod(name, container, volumes=named, restartPolicy="Never", **spec)


async def said(running: Running, name: str) -> str:
    pod = await running.until(PODS, name, lambda pod: pod["status"]["phase"] in ("Succeeded", "Failed"))
    ended = pod["status"]["containerStatuses"][0]["state"]["terminated"]
    assert pod["status"]["phase"] == "Succeeded", ended
    return str(ended.get("message", "")).strip()


# --- tokens


async def speaks_for(running: Running, token: str) -> str:
    review = {"spec": {"token": token}}
    answer = orjson.loads(await running.client.request("POST", REVIEWS, body=review))
    return str(answer["status"]["user"]["username"])


@promise("ServiceAccounts should mount an API token into pods")
async def test_every_pod_has_a_token(running: Running) -> None:
    files = ("namespace", "token", "ca.crt")
    await look(running, "account", "\n".join(f"cat {ACCOUNT}/{file}; echo" for file in files))
    namespace, token, authority = (await said(running, "account")).split("\n", 2)
    assert namespace == NAMESPACE
    assert authority.strip() == running.cluster.authority.pem.decode().strip()
    assert await speaks_for(running, token) == f"system:serviceaccount:{NAMESPACE}:default"


@promise("ServiceAccounts should mount projected service account token")
async def test_a_token_can_be_anywhere(running: Running) -> None:
    volume = projected({"serviceAccountToken": {"path": "token"}})
    await look(running, "projected-account", "cat /v0/token", volume)
    token = await said(running, "projected-account")
    assert await speaks_for(running, token) == f"system:serviceaccount:{NAMESPACE}:default"


#: Finds out, as a stranger to the cluster would, who has issued a token.
DISCOVERY = f"""
import json, os, ssl, urllib.request
context = ssl.create_default_context(cafile="{ACCOUNT}/ca.crt")
own = open("{ACCOUNT}/token").read()
def ask(url):
    request = urllib.request.Request(url, headers={{"Authorization": f"Bearer {{own}}"}})
    with urllib.request.urlopen(request, context=context) as answer:
        return json.load(answer)
host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
found = ask(f"https://{{host}}:{{port}}/.well-known/openid-configuration")
told = {{"issuer": found["issuer"], "keys": ask(found["jwks_uri"])["keys"], "token": open("/v0/token").read()}}
open("/dev/termination-log", "w").write(json.dumps(told))
"""


@promise(
    "ServiceAccounts ServiceAccountIssuerDiscovery should support OIDC discovery of service account issuer"
)
async def test_a_pod_finds_out_who_issues_tokens(running: Running) -> None:
    audience = "oidc-discovery-test"
    volume = projected({"serviceAccountToken": {"path": "token", "audience": audience}})
    container = {"name": "main", "image": "host/python3", "args": ["-c", DISCOVERY]}
    mount = {"name": "v0", "mountPath": "/v0"}
    volumes = [{"name": "v0", **volume}]
    await running.pod(
        "discovery", {**container, "volumeMounts": [mount]}, volumes=volumes, restartPolicy="Never"
    )
    told = orjson.loads(await said(running, "discovery"))
    token = parse(told["token"])
    token.verify([VerificationKey.from_jwk(key) for key in told["keys"]])
    assert token.claims["iss"] == told["issuer"]
    assert token.claims["aud"] == [audience]
    assert token.claims["sub"] == f"system:serviceaccount:{NAMESPACE}:default"


# --- whom a pod trusts

SIGNER = "test.test/signer"
BUNDLES = 103


def bundle(**source: Any) -> Object:
    return projected({"clusterTrustBundle": {"path": "anchors", **source}})


@pytest.fixture(scope="module")
def bundles(running: Running) -> None:
    async def make() -> None:
        for number in range(BUNDLES):
            spec = {"signerName": SIGNER, "trustBundle": StoredAuthority.make(f"ca {number}").pem.decode()}
            labels = {"half": str(number % 2)}
            await running.make(TRUST_BUNDLES, f"test.test:signer:{number}", spec, labels=labels)

    running.run(make())


EVEN: Object = {"matchLabels": {"half": "0"}}
NONE: Object = {"matchLabels": {"half": "none"}}
COMBINED = "should be capable to mount multiple trust bundles by signer+labels"
#: Volumes, and how many certificates are in each.
TRUSTED: dict[str, list[tuple[Object, int]]] = {
    promised("should be able to mount a single ClusterTrustBundle by name"): [
        (bundle(name="test.test:signer:7"), 1)
    ],
    promised("should be able to specify multiple CTB volumes"): [
        (bundle(name="test.test:signer:8"), 1),
        (bundle(signerName=SIGNER, labelSelector=EVEN), 52),
    ],
    promised("should be able to mount a big number (>100) of CTBs"): [
        (
            projected(
                *(
                    {"clusterTrustBundle": {"path": f"{number}.pem", "name": f"test.test:signer:{number}"}}
                    for number in range(BUNDLES)
                )
            ),
            BUNDLES,
        )
    ],
    promised(f"{COMBINED} can combine all signer CTBs with an empty label selector"): [
        (bundle(signerName=SIGNER, labelSelector={}), BUNDLES)
    ],
    promised(f"{COMBINED} can combine multiple CTBs with signer name and label selector"): [
        (bundle(signerName=SIGNER, labelSelector=EVEN), 52)
    ],
    promised(
        f"{COMBINED} should start if only signer name and explicit label selector matches nothing + optional=true"
    ): [(bundle(signerName=SIGNER, labelSelector=NONE, optional=True), 0)],
    promised(f"{COMBINED} should start if only signer name and nil label selector + optional=true"): [
        (bundle(signerName=SIGNER, optional=True), 0)
    ],
}
REFUSED: dict[str, Object] = {
    promised(
        "should prevent a pod from starting if: sets optional=false and no trust bundle matches query"
    ): (bundle(signerName=SIGNER, labelSelector=NONE)),
    promised(
        "should prevent a pod from starting if: sets optional=false and the configured CTB does not exist"
    ): bundle(name="test.test:signer:none"),
}


@pytest.mark.parametrize(("number", "name"), list(enumerate(TRUSTED)), ids=list(TRUSTED))
def test_a_pod_trusts(running: Running, bundles: None, number: int, name: str) -> None:
    volumes = TRUSTED[name]

    async def run() -> str:
        count = "\n".join(f"cat /v{each}/* | grep -c BEGIN || true" for each in range(len(volumes)))
        await look(running, f"trusting-{number}", count, *(volume for volume, _ in volumes))
        return await said(running, f"trusting-{number}")

    assert running.run(run()).split() == [str(count) for _, count in volumes]


@pytest.mark.parametrize(("number", "name"), list(enumerate(REFUSED)), ids=list(REFUSED))
def test_a_pod_waits_for_whom_to_trust(running: Running, bundles: None, number: int, name: str) -> None:
    async def run() -> Object:
        pod = f"refused-{number}"
        await look(running, pod, "true", REFUSED[name])

        async def told() -> bool:
            events = await running.client.list(EVENTS, NAMESPACE)
            return any((one["regarding"]["name"], one["reason"]) == (pod, "FailedMount") for one in events)

        await eventually(told, PATIENCE_S)
        found = await running.client.get(PODS, pod)
        await running.client.delete(PODS, pod)
        return found

    assert running.run(run())["status"]["phase"] == "Pending"


# --- certificates

POD_SIGNER = "e2e.example.com/spiffe"
PATH_ANNOTATION = "spiffe/path-overriding"
DAY_S = 86_400


def certificate(**fields: Any) -> Object:
    source = {"signerName": POD_SIGNER, "keyType": "ECDSAP256", "certificateChainPath": "chain.pem"}
    return projected({"podCertificate": {**source, **fields}})


async def sign(running: Running, authority: StoredAuthority, pod: str) -> None:
    """Be the signer: issue what a pod's node asks for."""

    async def asked() -> Object | None:
        found = await running.client.list(
            CERTIFICATE_REQUESTS, NAMESPACE, fields=f"spec.signerName={POD_SIGNER},spec.podName={pod}"
        )
        return found[0] if found else None

    request = await eventually(asked, PATIENCE_S, what=f"a request for {pod}")
    spec = request["spec"]
    proof = x509.load_der_x509_csr(b64decode(spec["stubPKCS10Request"]))
    assert proof.is_signature_valid
    path = (spec.get("unverifiedUserAnnotations") or {}).get(PATH_ANNOTATION)
    path = path or f"/ns/{NAMESPACE}/sa/{spec['serviceAccountName']}"
    key = serialization.load_pem_private_key(authority.key, None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    begin = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=2)
    end = begin + timedelta(seconds=min(spec["maxExpirationSeconds"], DAY_S))
    names = [
        x509.UniformResourceIdentifier(f"spiffe://cluster.local{path}"),
        x509.DNSName(f"server.{NAMESPACE}.svc"),
    ]
    issuer = authority.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    leaf = (
        x509.CertificateBuilder(authority.certificate.subject, x509.Name([]), proof.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(end)
        .add_extension(x509.SubjectAlternativeName(names), critical=True)
        .add_extension(
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]),
            critical=False,
        )
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(issuer), critical=False)
        .sign(key, hashes.SHA256())
    )
    issued = {"type": "Issued", "status": "True", "reason": "Reason", "message": "Issued"}
    issued["lastTransitionTime"] = format_time(datetime.now(UTC))
    status = {
        "conditions": [issued],
        "certificateChain": leaf.public_bytes(serialization.Encoding.PEM).decode(),
        "notBefore": format_time(begin),
        "beginRefreshAt": format_time(end - timedelta(minutes=30)),
        "notAfter": format_time(end),
    }
    await running.client.patch(
        CERTIFICATE_REQUESTS, request["metadata"]["name"], {"status": status}, subresource="status"
    )


async def shown(running: Running, name: str, **fields: Any) -> x509.Certificate:
    """The certificate that a pod finds."""
    await look(running, name, "cat /v0/chain.pem", certificate(**fields))
    await sign(running, StoredAuthority.make("signer"), name)
    return x509.load_pem_x509_certificate((await said(running, name)).encode())


def life_s(certificate: x509.Certificate) -> float:
    return (certificate.not_valid_after_utc - certificate.not_valid_before_utc).total_seconds()


CERTIFICATES = "Projected PodCertificate"


@promise(
    f"{CERTIFICATES} MaxExpirationSeconds validations should issue certificate with default life time (24h) "
    "when MaxExpirationSeconds is not set"
)
async def test_a_certificate_is_good_for_a_day(running: Running) -> None:
    assert life_s(await shown(running, "certificate-day")) == DAY_S


@promise(
    f"{CERTIFICATES} MaxExpirationSeconds validations should issue certificate with specified duration (1h) "
    "when MaxExpirationSeconds is set"
)
async def test_a_certificate_is_good_for_as_long_as_asked(running: Running) -> None:
    assert life_s(await shown(running, "certificate-hour", maxExpirationSeconds=3600)) == 3600


@promise(f"{CERTIFICATES} should honor UserAnnotations for SPIFFE URI path")
async def test_a_signer_is_told_what_the_user_says(running: Running) -> None:
    found = await shown(running, "certificate-path", userAnnotations={PATH_ANNOTATION: "/custom-workload"})
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.UniformResourceIdentifier) == [
        "spiffe://cluster.local/custom-workload"
    ]


MTLS_SERVER = """
import os, socket, ssl
context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile="/tls/trust.pem")
context.load_cert_chain("/tls/own.pem")
context.verify_mode = ssl.CERT_REQUIRED
listener = socket.create_server((os.environ["POD_IP"], 8443))
while True:
    try:
        with context.wrap_socket(listener.accept()[0], server_side=True) as client:
            names = dict(client.getpeercert()["subjectAltName"])
            client.sendall(f"Client Identity: {names['URI']}".encode())
    except OSError as error:
        print(error, flush=True)
"""
MTLS_CLIENT = f"""
import socket, ssl, time
context = ssl.create_default_context(cafile="/tls/trust.pem")
context.load_cert_chain("/tls/own.pem")
while True:
    try:
        with socket.create_connection(("mtls.{NAMESPACE}.svc", 8443)) as raw:
            with context.wrap_socket(raw, server_hostname="server.{NAMESPACE}.svc") as server:
                answer = server.recv(1000)
                break
    except OSError as error:
        print(error, flush=True)
        time.sleep(0.2)
open("/dev/termination-log", "wb").write(answer)
"""


@promise(f"{CERTIFICATES} should allow server and client pods to establish an mTLS connection")
async def test_pods_prove_to_each_other_who_they_are(running: Running) -> None:
    authority = StoredAuthority.make("signer")
    trust = {"signerName": POD_SIGNER, "trustBundle": authority.pem.decode()}
    await running.make(TRUST_BUNDLES, "e2e.example.com:spiffe:primary-bundle", trust)
    own = {"signerName": POD_SIGNER, "keyType": "ED25519", "credentialBundlePath": "own.pem"}
    trusted = {"signerName": POD_SIGNER, "labelSelector": {}, "path": "trust.pem"}
    tls = {"name": "tls", **projected({"podCertificate": own}, {"clusterTrustBundle": trusted})}
    ports = [{"port": 8443}]
    await running.make(SERVICES, "mtls", {"selector": {"app": "mtls"}, "ports": ports})
    for name, program in (("mtls-server", MTLS_SERVER), ("mtls-client", MTLS_CLIENT)):
        container: Object = {"name": "main", "image": "host/python3", "args": ["-c", program]}
        container["volumeMounts"] = [{"name": "tls", "mountPath": "/tls"}]
        labels = {"app": "mtls"} if name == "mtls-server" else {}
        spec = {"containers": [container], "volumes": [tls], "restartPolicy": "Never"}
        await running.make(PODS, name, {"terminationGracePeriodSeconds": 0, **spec}, labels=labels)
        await sign(running, authority, name)
    identity = f"spiffe://cluster.local/ns/{NAMESPACE}/sa/default"
    assert await said(running, "mtls-client") == f"Client Identity: {identity}"
    await running.client.delete(PODS, "mtls-server")
