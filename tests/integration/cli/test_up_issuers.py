"""`steer up --authentication-config`: users that another issuer, over TLS, vouches for."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from steersman.cluster.auth.jwt import SigningKey, key_set
from steersman.cluster.auth.pki import StoredAuthority
from tests.support.steer import DEADLINE_S, Api, Steer, refused, running
from tests.support.waiting import soon

KEY = SigningKey.make()
AUTHORITY = StoredAuthority.make("issuers")


@contextmanager
def issuer(folder: Path) -> Iterator[str]:
    """An OpenID provider of one key; gives its URL."""

    class Provider(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = documents.get(self.path)
            self.send_response(200 if found else 404)
            self.end_headers()
            self.wfile.write(found or b"")

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*AUTHORITY.keep(folder, "issuer", "issuer", ["localhost", "127.0.0.1"]))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    url = f"https://localhost:{server.server_port}/login"
    documents = {
        "/login/.well-known/openid-configuration": json.dumps(
            {"issuer": url, "jwks_uri": f"{url}/keys"}
        ).encode(),
        "/login/keys": key_set([KEY.public]),
    }
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield url
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def configuration(url: str) -> dict[str, Any]:
    return {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AuthenticationConfiguration",
        "jwt": [
            {
                "issuer": {
                    "url": url,
                    "audiences": ["steer"],
                    "certificateAuthority": AUTHORITY.pem.decode(),
                },
                "claimMappings": {
                    "username": {"expression": "'oidc:' + claims.sub"},
                    "groups": {"claim": "roles", "prefix": "oidc:"},
                    "extra": [{"key": "example.com/team", "valueExpression": "claims.?team.orValue('')"}],
                },
                "claimValidationRules": [
                    {"expression": "claims.exp - claims.iat <= 3600", "message": "lives too long"}
                ],
                "userValidationRules": [
                    {"expression": "!user.groups.exists(g, g == 'oidc:banned')", "message": "banned"}
                ],
            }
        ],
        "anonymous": {"enabled": True, "conditions": [{"path": "/livez"}]},
    }


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Steer, str]]:
    folder = tmp_path_factory.mktemp("issuer")
    with issuer(folder) as url:
        file = folder / "authentication.yaml"
        file.write_text(yaml.safe_dump(configuration(url)))
        with running("--authentication-config", str(file)) as steer:
            wait_for_keys(steer.api, url)
            yield steer, url


def token(url: str, **changes: Any) -> str:
    now = int(time.time())
    claims = {"iss": url, "aud": "steer", "sub": "ann", "roles": ["dev"], "iat": now, "exp": now + 600}
    return KEY.sign({**claims, **changes})


def wait_for_keys(api: Api, url: str) -> None:
    """The server asks for an issuer's keys when it starts, without waiting for them."""
    soon(lambda: api.get("/version", token=token(url)).status == 200, DEADLINE_S, "the issuer's keys")


def whoami(api: Api, credentials: str) -> Any:
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = api.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", body, token=credentials)
    return answer.json["status"]["userInfo"] if answer.status == 201 else answer.status


def test_the_issuers_user_is_let_in(server: tuple[Steer, str]) -> None:
    steer, url = server
    assert whoami(steer.api, token(url, team="blue")) == {
        "username": "oidc:ann",
        "groups": ["oidc:dev", "system:authenticated"],
        "extra": {"example.com/team": ["blue"]},
    }


@pytest.mark.parametrize(
    "changes",
    [{"aud": "else"}, {"exp": 1}, {"iat": 1}, {"roles": ["banned"]}, {"sub": 7}, {"iss": "https://else"}],
    ids=str,
)
def test_who_is_not(server: tuple[Steer, str], changes: dict[str, Any]) -> None:
    steer, url = server
    assert whoami(steer.api, token(url, **changes)) == 401


def test_a_review_tells_why(server: tuple[Steer, str]) -> None:
    steer, url = server
    body = {"spec": {"token": token(url, roles=["banned"])}}
    answer = steer.api.post("/apis/authentication.k8s.io/v1/tokenreviews", body)
    assert answer.json["status"]["error"].endswith("failed: banned]")


def test_anonymous_requests_are_for_the_paths_named(server: tuple[Steer, str]) -> None:
    steer, _ = server
    assert steer.api.get("/livez", token="").status == 200
    assert steer.api.get("/version", token="").status == 401


def test_a_bad_file_is_one_line(tmp_path: Path) -> None:
    bad = configuration("http://localhost")
    file = tmp_path / "authentication.yaml"
    file.write_text(yaml.safe_dump(bad))
    code, said = refused("--data", ":memory:", "--port", "0", "--authentication-config", str(file))
    assert code == 1
    assert said == (
        f'steer: {file}: jwt[0].issuer.url: Invalid value: "http://localhost": URL scheme must be https\n'
    )
