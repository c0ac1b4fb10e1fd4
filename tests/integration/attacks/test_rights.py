"""Attempts to get at more than one was given: bindings, roles, impersonation, tokens, secrets, side doors."""

from __future__ import annotations

import base64
import json
import shlex
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.manifests import pod
from tests.support.steer import Api

from .conftest import RBAC, Account, bounded, rule

pytestmark = pytest.mark.slow

GROUP = "rbac.authorization.k8s.io"
EVERYTHING = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
WRITES_RBAC = rule("create get update patch", "roles rolebindings clusterroles clusterrolebindings", GROUP)
Accounts = Callable[..., Account]


def binding(account: Account, role: str, kind: str = "ClusterRole") -> dict[str, Any]:
    subject = {"kind": "ServiceAccount", "name": account.name, "namespace": account.namespace}
    ref = {"apiGroup": GROUP, "kind": kind, "name": role}
    return {"metadata": {"name": f"grab-{account.name}"}, "roleRef": ref, "subjects": [subject]}


@pytest.mark.parametrize("where", ["/namespaces/NS/rolebindings", "/clusterrolebindings"])
@pytest.mark.parametrize("role", ["cluster-admin", "admin", "edit", "system:node"])
def test_binding_oneself_to_a_greater_role(account: Accounts, where: str, role: str) -> None:
    mallory = account(WRITES_RBAC, cluster=True)
    answer = mallory.ask("POST", RBAC + where, binding(mallory, role))
    assert answer.status == 403, answer.text
    assert "is attempting to grant RBAC permissions not currently held" in answer.json["message"]
    assert mallory.ask("GET", "/api/v1/secrets").status == 403


@pytest.mark.parametrize("verb", ["POST", "PUT", "merge", "json", "apply"])
def test_writing_more_into_a_role(account: Accounts, verb: str) -> None:
    """Whichever way the role is written, it holds no more than its writer does."""
    mallory = account(WRITES_RBAC)
    own = f"{RBAC}/namespaces/NS/roles/{mallory.name}"
    role = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Role",
        "metadata": {"name": mallory.name},
        "rules": [EVERYTHING],
    }
    patch_types = {"merge": "merge-patch+json", "json": "json-patch+json", "apply": "apply-patch+yaml"}
    if verb == "POST":
        answer = mallory.ask("POST", own.rpartition("/")[0], {**role, "metadata": {"name": "new"}})
    elif verb == "PUT":
        answer = mallory.ask("PUT", own, role)
    else:
        body: Any = role
        if verb == "json":
            body = [{"op": "add", "path": "/rules/0", "value": EVERYTHING}]
        answer = mallory.ask(
            "PATCH", f"{own}?fieldManager=x&force=true" if verb == "apply" else own, body,
            content_type=f"application/{patch_types[verb]}",
        )  # fmt: skip
    assert answer.status == 403, answer.text
    assert mallory.ask("GET", "/api/v1/namespaces/NS/secrets").status == 403


def test_a_role_that_gathers_others(account: Accounts) -> None:
    mallory = account(WRITES_RBAC, cluster=True)
    gathering = {
        "metadata": {"name": "gather"},
        "aggregationRule": {
            "clusterRoleSelectors": [{"matchLabels": {"kubernetes.io/bootstrapping": "rbac-defaults"}}]
        },
    }
    assert mallory.ask("POST", f"{RBAC}/clusterroles", gathering).status == 403
    labelled = {
        "metadata": {"name": "in", "labels": {f"{GROUP}/aggregate-to-admin": "true"}},
        "rules": [EVERYTHING],
    }
    assert mallory.ask("POST", f"{RBAC}/clusterroles", labelled).status == 403


@pytest.mark.parametrize(
    "headers",
    [
        [("Impersonate-User", "admin")],
        [("Impersonate-User", "system:admin"), ("Impersonate-Group", "system:masters")],
        [("impersonate-user", "x"), ("IMPERSONATE-GROUP", "system:masters")],
        [("Impersonate-User", "system:serviceaccount:kube-system:default")],
        [("Impersonate-User", "system:node:a"), ("Impersonate-Group", "system:nodes")],
        [("Impersonate-User", "x"), ("Impersonate-Extra-scopes", "all")],
        [("Impersonate-User", "x"), ("Impersonate-Uid", "1")],
    ],
    ids=lambda headers: " ".join(value for _, value in headers),
)
def test_impersonation_without_the_right(account: Accounts, headers: list[tuple[str, str]]) -> None:
    mallory = account(rule("get", "pods"))
    assert mallory.with_headers("/api/v1/secrets", headers).status == 403


@pytest.mark.parametrize(
    "headers",
    [
        [("Impersonate-Group", "system:masters")],
        [("Impersonate-Uid", "1")],
        [("Impersonate-Extra-a", "1")],
        [("Impersonate-User", ""), ("Impersonate-Group", "system:masters")],
    ],
    ids=lambda headers: " ".join(name for name, _ in headers),
)
def test_impersonation_of_nobody_is_not_ignored(account: Accounts, headers: list[tuple[str, str]]) -> None:
    mallory = account(rule("list", "pods"))
    assert mallory.with_headers("/api/v1/namespaces/NS/pods", headers).status >= 400


def test_the_right_to_one_user_is_not_the_right_to_a_group(account: Accounts) -> None:
    mallory = account(rule("impersonate", "users", resourceNames=["ann"]), cluster=True)
    as_ann = [("Impersonate-User", "ann")]
    assert '"ann" cannot list' in mallory.with_headers("/api/v1/secrets", as_ann).json["message"]
    masters = [*as_ann, ("Impersonate-Group", "system:masters")]
    assert "cannot impersonate" in mallory.with_headers("/api/v1/secrets", masters).json["message"]
    two = [*as_ann, ("Impersonate-User", "admin")]
    assert mallory.with_headers("/api/v1/secrets", two).status in (400, 403)


def test_tokens_of_other_accounts(account: Accounts) -> None:
    own = rule("create", "serviceaccounts/token", resourceNames=["mine"])
    mallory = account(own, rule("get list create update", "serviceaccounts"))
    for path in ("NS/serviceaccounts/default/token", "kube-system/serviceaccounts/default/token"):
        answer = mallory.ask("POST", f"/api/v1/namespaces/{path}", {"spec": {}})
        assert answer.status == 403, answer.text


def test_a_token_for_another_audience_is_no_token_here(account: Accounts, api: Api) -> None:
    mallory = account(rule("list", "pods"))
    path = f"/api/v1/namespaces/{mallory.namespace}/serviceaccounts/{mallory.name}/token"
    other = api.post(path, {"spec": {"audiences": ["vault"]}}).json["status"]["token"]
    assert api.get("/api/v1/namespaces", token=other).status == 401


def forged(token: str, **claims: Any) -> list[str]:
    """Tokens like this one, with other claims: unsigned, signed by nobody, with another's signature."""
    head, body, signature = token.split(".")

    def encode(data: Any) -> str:
        return base64.urlsafe_b64encode(json.dumps(data).encode()).rstrip(b"=").decode()

    def decode(part: str) -> Any:
        return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))

    changed = encode({**decode(body), **claims})
    none = encode({**decode(head), "alg": "none"})
    shared = encode({**decode(head), "alg": "HS256"})
    return [
        f"{head}.{changed}.{signature}",
        f"{none}.{changed}.",
        f"{none}.{changed}.{signature}",
        f"{shared}.{changed}.{signature}",
        f"{head}.{changed}.",
        f"{head}.{body}.{signature[:-2]}",
        f"{head}.{body}.{signature}.{signature}",
        f"{head}.{body}",
    ]


def test_forged_tokens(account: Accounts, api: Api) -> None:
    mallory = account(rule("list", "pods"))
    for token in forged(mallory.token, sub="system:serviceaccount:kube-system:admin", exp=9999999999):
        assert api.get(f"/api/v1/namespaces/{mallory.namespace}/pods", token=token).status == 401


def test_a_token_dies_with_its_account(account: Accounts, api: Api) -> None:
    mallory = account(rule("list", "pods"))
    path = f"/api/v1/namespaces/{mallory.namespace}/serviceaccounts"
    api.request("DELETE", f"{path}/{mallory.name}")
    api.post(path, {"metadata": {"name": mallory.name}})
    assert mallory.ask("GET", "/api/v1/namespaces/NS/pods").status == 401, "one of the same name is another"


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/secrets",
        "/api/v1/namespaces/NS/secrets",
        "/api/v1/namespaces/NS/secrets?labelSelector=owner%3Dmallory",
        "/api/v1/namespaces/NS/secrets?fieldSelector=metadata.name%3Dmine",
        "/api/v1/namespaces/NS/secrets?fieldSelector=metadata.name%3Dtop&watch=true",
        "/api/v1/namespaces/NS/secrets?watch=1",
        "/api/v1/namespaces/NS/secrets?watch=true&watch=false",
        "/api/v1/watch/namespaces/NS/secrets",
        "/api/v1/watch/secrets",
        "/api/v1/watch/namespaces/NS/secrets/top",
        "/api/v1/namespaces/NS/secrets/top",
        "/api/v1/namespaces/kube-system/secrets",
    ],
)
def test_secrets_without_the_right(account: Accounts, api: Api, path: str) -> None:
    mallory = account(rule("get", "secrets", resourceNames=["mine"]), rule("*", "configmaps"))
    api.post(
        f"/api/v1/namespaces/{mallory.namespace}/secrets",
        {"metadata": {"name": "top"}, "stringData": {"k": "v"}},
    )
    assert mallory.ask("GET", path).status == 403


def test_the_one_that_may_be_seen_brings_no_others(account: Accounts, api: Api) -> None:
    mallory = account(rule("get list watch", "secrets", resourceNames=["mine"]))
    secrets = f"/api/v1/namespaces/{mallory.namespace}/secrets"
    for name in ("mine", "top"):
        api.post(secrets, {"metadata": {"name": name}})
    answer = mallory.ask("GET", f"{secrets}?fieldSelector=metadata.name%3Dmine")
    assert [item["metadata"]["name"] for item in answer.json["items"]] == ["mine"]
    for selector in (
        "metadata.name!%3Dtop",
        "metadata.name%3Dmine,metadata.name%3Dtop",
        "metadata.name%3Dtop",
    ):
        answer = mallory.ask("GET", f"{secrets}?fieldSelector={selector}")
        shown = [] if answer.status == 403 else [item["metadata"]["name"] for item in answer.json["items"]]
        assert "top" not in shown


@pytest.mark.parametrize(
    "request_line",
    shlex.split(
        "'GET NS/pods/p/exec?command=sh' 'POST NS/pods/p/exec?command=sh' 'POST NS/pods/p/attach' 'GET NS/pods/p/log' "
        "'POST NS/pods/p/portforward' 'GET NS/pods/p/proxy/' 'GET NS/pods/p/proxy/a/b' 'POST NS/pods/p/eviction' "
        "'POST NS/pods/p/binding' 'PATCH NS/pods/p/ephemeralcontainers' 'PUT NS/pods/p/status' "
        "'PATCH NS/pods/p/resize' 'GET NS/services/s/proxy/' 'POST NS/bindings'"
    ),
)
def test_subresources_need_their_own_right(account: Accounts, api: Api, request_line: str) -> None:
    mallory = account(rule("get list watch create update patch delete", "pods services"))
    api.post(f"/api/v1/namespaces/{mallory.namespace}/pods", pod("p"))
    method, path = request_line.split()
    body: Any = None if method == "GET" else {}
    answer = mallory.ask(
        method, f"/api/v1/namespaces/{path}", body, content_type="application/merge-patch+json"
    )
    assert answer.status == 403, answer.text
    assert f'"{mallory.user}" cannot' in answer.json["message"]


@pytest.mark.parametrize("path", ["/proxy/", "/proxy/pods", "/proxy/exec/a/b/c", "/status"])
def test_nodes_need_their_own_rights(account: Accounts, path: str) -> None:
    mallory = account(rule("get list", "nodes"), cluster=True)
    assert mallory.ask("GET", f"/api/v1/nodes/any{path}").status == 403


@pytest.mark.parametrize(
    "path",
    [
        "//api/v1/namespaces/NS/secrets",
        "/api//v1/namespaces/NS/secrets",
        "/api/v1//namespaces/NS/secrets",
        "/api/v1/namespaces//NS/secrets",
        "/api/v1/namespaces/NS//secrets",
        "/api/v1/namespaces/NS/secrets/",
        "/api/v1/namespaces/NS/secrets//",
        "/api/v1/namespaces/NS/secrets/top/",
        "/api/v1/namespaces/NS/Secrets",
        "/API/v1/namespaces/NS/secrets",
        "/api/v1/Namespaces/NS/secrets",
        "/api/v1/namespaces/NS%2fsecrets",
        "/api/v1/namespaces%2fNS%2fsecrets",
        "/api/v1/namespaces/NS/%73ecrets",
        "/api/v1/namespaces/NS/secrets%2ftop",
        "/api/v1/namespaces/NS/configmaps/../secrets",
        "/api/v1/namespaces/NS/configmaps/..%2fsecrets",
        "/api/v1/namespaces/NS/configmaps/%2e%2e/secrets/top",
        "/api/v1/namespaces/NS/./secrets",
        "/healthz/../api/v1/namespaces/NS/secrets",
        "/healthz/..%2fapi/v1/namespaces/NS/secrets",
        "/api/v1/namespaces/NS/secrets%00",
        "/api/v1/namespaces/NS/secrets;a=b",
        "/api/v1/namespaces/NS/secrets#configmaps",
        "/api/v1/namespaces/NS/configmaps%23/secrets",
        "/api/v1/namespaces/NS/configmaps/x/../../secrets/top",
        "/apis/v1/namespaces/NS/secrets",
        "/apis//v1/namespaces/NS/secrets",
    ],
)
def test_other_spellings_of_a_path_open_nothing(account: Accounts, api: Api, path: str) -> None:
    mallory = account(rule("*", "configmaps configmaps/status"))
    secrets = f"/api/v1/namespaces/{mallory.namespace}/secrets"
    api.post(secrets, {"metadata": {"name": "top"}, "stringData": {"k": "hidden-treasure"}})
    with bounded():
        answer = mallory.ask("GET", path)
    assert 300 <= answer.status < 500, answer.text
    assert base64.b64encode(b"hidden-treasure").decode() not in answer.text


@pytest.mark.parametrize(
    "header", ["X-HTTP-Method-Override", "X-Original-URL", "X-Remote-User", "X-Forwarded-User"]
)
def test_headers_that_mean_something_elsewhere(account: Accounts, header: str) -> None:
    mallory = account(rule("get", "configmaps"))
    value = {"X-HTTP-Method-Override": "GET", "X-Original-URL": "/healthz"}.get(header, "admin")
    headers = [(header, value), ("X-Remote-Group", "system:masters")]
    assert mallory.with_headers("/api/v1/namespaces/NS/secrets", headers).status == 403


def test_a_client_certificate_of_ones_own_group(account: Accounts, api: Api) -> None:
    """Nobody without the signer's right gets a certificate approved, least of all one of the masters."""
    mallory = account(rule("create", "certificatesigningrequests", "certificates.k8s.io"), cluster=True)
    path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    assert mallory.ask("PUT", f"{path}/x/approval", {}).status == 403
    assert mallory.ask("PUT", f"{path}/x/status", {}).status == 403
