"""OpenID discovery and public keys, by which other parties verify service account tokens."""

from __future__ import annotations

import orjson

from steersman.cluster.auth.jwt import key_set
from steersman.cluster.auth.service_accounts import ServiceAccountTokens
from steersman.http import Request, Response
from steersman.objects.status import not_acceptable

__all__ = ["OpenIDMetadata"]


class OpenIDMetadata:
    """/.well-known/openid-configuration and /openid/v1/jwks."""

    CONFIGURATION = "/.well-known/openid-configuration"
    KEYS = "/openid/v1/jwks"
    _KEYS_TYPE = "application/jwk-set+json"

    def __init__(self, tokens: ServiceAccountTokens, server_url: str) -> None:
        self._keys = key_set(tokens.keys)
        self._configuration = orjson.dumps(
            {
                "issuer": tokens.issuer,
                "jwks_uri": server_url + self.KEYS,
                "response_types_supported": ["id_token"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": sorted({key.algorithm for key in tokens.keys}),
            }
        )

    def serve(self, request: Request) -> Response | None:
        """The answer to one of the two paths, None to others. Raises 406."""
        accept = request.headers.get("accept") or "*/*"
        if request.path == self.CONFIGURATION:
            return _document(self._configuration, "application/json", accept)
        if request.path == self.KEYS:
            return _document(self._keys, self._KEYS_TYPE, accept)
        return None


def _document(body: bytes, media_type: str, accept: str) -> Response:
    accepted = {part.partition(";")[0].strip() for part in accept.split(",")}
    if not accepted & {media_type, "*/*"}:
        raise not_acceptable([media_type])
    headers = ((b"Content-Type", media_type.encode()), (b"Cache-Control", b"public, max-age=3600"))
    return Response(200, body, headers)
