"""The service account token controller: fills Secrets of type kubernetes.io/service-account-token, and
deletes them with their account.

Without a signing key (`Options.sign_token`) it is not started.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final, cast

from steersman.client import Conflict
from steersman.cluster.controllers.reconciling import retrying_conflicts
from steersman.cluster.controllers.setup import Setup, SignToken
from steersman.objects.kinds.types.core_v1 import Secret, ServiceAccount
from steersman.objects.resources import SECRETS, SERVICE_ACCOUNTS
from steersman.runtime import Cached, Change, Key, Request

__all__ = ["add"]


_TYPE: Final = "kubernetes.io/service-account-token"
_ACCOUNT_NAME: Final = "kubernetes.io/service-account.name"
_ACCOUNT_UID: Final = "kubernetes.io/service-account.uid"
_BY_ACCOUNT: Final = "account"
_BY_TOKEN: Final = "secrets"  # noqa: S105 - the name of an index


def add(setup: Setup) -> None:
    if setup.options.sign_token is not None:
        _Tokens(setup, setup.options.sign_token)


class _Tokens:
    """Reconciles the token Secrets of ServiceAccounts."""

    def __init__(self, setup: Setup, sign: SignToken) -> None:
        self._client = setup.client
        self._sign = sign
        self._authority = _encoded(setup.options.root_certificate)
        secrets = setup.informer(SECRETS, fields=f"type={_TYPE}")
        accounts = setup.informer(SERVICE_ACCOUNTS)
        self._secrets, self._accounts = secrets.cache, accounts.cache
        self._secrets.add_index(_BY_ACCOUNT, _account_of)
        self._accounts.add_index(_BY_TOKEN, _secrets_of)
        self._writes = setup.writes("serviceaccount-token", secrets, accounts)
        controller = setup.controller("serviceaccount-token", retrying_conflicts(self._reconcile))
        controller.primary(secrets)
        controller.watches(accounts, self._tokens_of)

    def _tokens_of(self, change: Change) -> list[Key]:
        return [cached.key for cached in self._secrets.by_index(_BY_ACCOUNT, str(change.key))]

    async def _reconcile(self, request: Request) -> None:
        cached = self._secrets.get(request.key)
        if cached is None:
            await self._forget(request.key)
            return
        secret = cast("Secret", cached.object())
        metadata = secret["metadata"]
        name = _annotations(metadata).get(_ACCOUNT_NAME, "")
        if not name:
            return
        account = await self._account(Key(request.namespace, name), _annotations(metadata).get(_ACCOUNT_UID))
        if account is None:
            try:
                await self._writes.delete(SECRETS, request.key, metadata["uid"], propagation=None)
            except Conflict:
                return  # another one of the same name
        elif "deletionTimestamp" not in metadata:
            await self._fill(secret, account)

    async def _account(self, key: Key, uid: str | None) -> ServiceAccount | None:
        """The account of this name, and uid if one is given; the API is asked before it is called missing."""
        cached = self._accounts.get(key)
        account = cast("ServiceAccount", cached.object()) if cached is not None else None
        if account is None or uid not in (None, "", account["metadata"]["uid"]):
            found = await self._client.find(SERVICE_ACCOUNTS, key.name, key.namespace)
            account = cast("ServiceAccount | None", found)
        if account is None or uid not in (None, "", account["metadata"]["uid"]):
            return None
        return account

    async def _fill(self, secret: Secret, account: ServiceAccount) -> None:
        """Put in what is missing or wrong."""
        data, metadata = dict(secret.get("data") or {}), secret["metadata"]
        before = dict(data)
        if self._authority:
            data["ca.crt"] = self._authority
        if not data.get("namespace"):
            data["namespace"] = _encoded(metadata["namespace"])
        if not data.get("token"):
            data["token"] = _encoded(self._sign(account, secret))
        if data == before:
            return
        owner = account["metadata"]
        named = {**_annotations(metadata), _ACCOUNT_NAME: owner["name"], _ACCOUNT_UID: owner["uid"]}
        await self._writes.replace(
            SECRETS, {**secret, "data": data, "metadata": {**metadata, "annotations": named}}
        )

    async def _forget(self, secret: Key) -> None:
        """A token is gone: accounts do not name it any more."""
        named_by = self._accounts.by_index(_BY_TOKEN, str(secret))
        if not named_by or await self._client.find(SECRETS, secret.name, secret.namespace) is not None:
            return
        for cached in named_by:
            account = cast("ServiceAccount", cached.object())
            kept = [one for one in account["secrets"] if one.get("name") != secret.name]
            await self._writes.replace(SERVICE_ACCOUNTS, {**account, "secrets": kept})


def _annotations(metadata: Mapping[str, Any]) -> dict[str, str]:
    return metadata.get("annotations") or {}


def _account_of(secret: Cached) -> list[str]:
    name = _annotations(secret.metadata()).get(_ACCOUNT_NAME)
    return [str(Key(secret.key.namespace, name))] if name else []


def _secrets_of(account: Cached) -> list[str]:
    named = account.object().get("secrets") or ()
    return [str(Key(account.key.namespace, one["name"])) for one in named if one.get("name")]


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
