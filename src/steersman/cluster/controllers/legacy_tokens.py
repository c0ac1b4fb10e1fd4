"""The legacy service account token cleaner: invalidates auto-generated token Secrets that were unused for a
year, and deletes them a year later.

The API server records since when it tracks the use of such tokens (ConfigMap
kube-apiserver-legacy-service-account-token-tracking), and the day of the last use on each Secret (a label).
Secrets that a pod mounts are kept.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, date, datetime, timedelta
from typing import Final, Literal, cast

from steersman.cluster.controllers.reconciling import moment, retrying_conflicts
from steersman.cluster.controllers.setup import Setup
from steersman.objects.kinds.types.core_v1 import Secret, ServiceAccount
from steersman.objects.lifetime import created_at, is_deleting
from steersman.objects.pods import secret_names
from steersman.objects.resources import CONFIG_MAPS, PODS, SECRETS, SERVICE_ACCOUNTS
from steersman.runtime import Request, Result

__all__ = ["add", "judge"]


_NAME: Final = "legacy-serviceaccount-token-cleaner"
_TRACKING: Final = "kube-apiserver-legacy-service-account-token-tracking"
_LAST_USED: Final = "kubernetes.io/legacy-token-last-used"
_INVALID_SINCE: Final = "kubernetes.io/legacy-token-invalid-since"
_ACCOUNT: Final = "kubernetes.io/service-account.name"
_ACCOUNT_UID: Final = "kubernetes.io/service-account.uid"
#: A token that was not used for so long is not needed.
_UNUSED: Final = timedelta(days=365)
_LOOK_AGAIN_S: Final = 86_400.0


def judge(
    secret: Secret, account: ServiceAccount | None, mounted: Collection[str], now: datetime
) -> Literal["mark", "delete"] | None:
    """What is to become of a token; None: it stays as it is."""
    metadata = secret["metadata"]
    labels, name = metadata.get("labels") or {}, metadata["name"]
    limit = now - _UNUSED
    if is_deleting(secret) or created_at(secret) >= limit:
        return None
    if _LAST_USED in labels:
        used = _day(labels[_LAST_USED])
        if used is None or used >= limit.date():
            return None
    # Only what an account names was made without anybody asking for it.
    named = account is not None and any(one.get("name") == name for one in account.get("secrets") or ())
    if not named or name in mounted:
        return None
    invalid = _day(labels.get(_INVALID_SINCE, ""))
    if invalid is None:
        return "mark"
    return "delete" if invalid < limit.date() else None


def _day(text: str) -> date | None:
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).date()
    except ValueError:
        return None


class _Cleaner:
    """Reconciles the token Secrets, each once a day."""

    def __init__(self, setup: Setup) -> None:
        secrets = setup.informer(SECRETS, fields="type=kubernetes.io/service-account-token")
        self._client = setup.client
        self._clock = setup.clock
        self._secrets = secrets.cache
        self._accounts = setup.informer(SERVICE_ACCOUNTS).cache
        self._pods = setup.informer(PODS).cache
        self._writes = setup.writes(_NAME, secrets)
        setup.controller(_NAME, retrying_conflicts(self._reconcile)).primary(secrets)

    async def _reconcile(self, request: Request) -> Result | None:
        cached = self._secrets.get(request.key)
        if cached is None:
            return None
        secret, now = cast("Secret", cached.object()), moment(self._clock)
        # Before the API is asked: most tokens are young.
        verdict = judge(secret, self._account(secret), (), now)
        if verdict is not None and await self._is_tracked(now):
            verdict = judge(secret, self._account(secret), self._mounted(request.namespace), now)
            if verdict == "mark":
                labels = {_INVALID_SINCE: now.date().isoformat()}
                patch = {"metadata": {"uid": cached.uid, "labels": labels}}
                await self._writes.patch(SECRETS, request.key, patch)
            elif verdict == "delete":
                version = secret["metadata"]["resourceVersion"]
                await self._writes.delete(
                    SECRETS, request.key, cached.uid, propagation=None, resource_version=version
                )
        return Result.requeue(_LOOK_AGAIN_S)

    async def _is_tracked(self, now: datetime) -> bool:
        """Whether the use of tokens has been noted for long enough to tell."""
        found = await self._client.find(CONFIG_MAPS, _TRACKING, "kube-system")
        since = _day(((found or {}).get("data") or {}).get("since", ""))
        return since is not None and now.date() > since + _UNUSED

    def _account(self, secret: Secret) -> ServiceAccount | None:
        metadata = secret["metadata"]
        annotations = metadata.get("annotations") or {}
        cached = self._accounts.get((metadata["namespace"], annotations.get(_ACCOUNT, "")))
        if cached is None or annotations.get(_ACCOUNT_UID) not in (None, "", cached.uid):
            return None
        return cast("ServiceAccount", cached.object())

    def _mounted(self, namespace: str) -> set[str]:
        pods = [pod.object() for pod in self._pods if pod.namespace == namespace]
        return {name for pod in pods for name in secret_names(pod["spec"])}


def add(setup: Setup) -> None:
    _Cleaner(setup)
