"""Conversion webhooks: objects of a custom resource from one version to another.

The pure part (the review, and what its answer may change) is `schema.structural.conversion`; here is the
call. What goes out has its own version's defaults, what comes back is pruned by the schema of the version
that was asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import orjson

from steersman.cluster.admission.webhooks import WebhookClients
from steersman.cluster.admission.webhooks.calling import CallError
from steersman.cluster.admission.webhooks.configurations import ClientConfig
from steersman.cluster.apiserver.custom.kind import CustomKind
from steersman.cluster.apiserver.resources.system_fields import new_uid
from steersman.cluster.schema.errors import DecodeError
from steersman.cluster.schema.resources import GVK
from steersman.cluster.schema.structural.conversion import Conversion, accept_review, conversion_review
from steersman.cluster.schema.structural.errors import ConversionError
from steersman.objects.kinds import Object
from steersman.objects.schemas import Schema
from steersman.objects.status import StatusError

__all__ = ["WebhookConversion"]


_TIMEOUT_S: Final = 30
#: One review carries at most this much, so that its answer stays below what is accepted.
_REVIEW_BYTES: Final = 2 << 20


class WebhookConversion:
    """The conversion webhook of one definition."""

    def __init__(
        self, clients: WebhookClients, group: str, webhook: Object, kinds: Mapping[str, CustomKind]
    ) -> None:
        """`kinds` are all versions of the definition, served or not."""
        self._clients = clients
        self._group = group
        self._config = ClientConfig.parse(webhook["clientConfig"])
        self._review_versions: Sequence[str] = webhook["conversionReviewVersions"]
        self.kinds = kinds

    def kind(self, version: str, default: CustomKind) -> CustomKind:
        """The kind of a stored version, which may be none of the definition's any more."""
        return self.kinds.get(version, default)

    def schema(self, version: str) -> Schema | None:
        kind = self.kinds.get(version)
        return None if kind is None else kind.schema

    async def convert(self, objects: Sequence[Object], version: str) -> list[Object]:
        """The objects in a version; the given ones are left alone. Raises StatusError (500)."""
        converted: list[Object] = []
        try:
            for batch in _batches(objects):
                converted += await self._convert(batch, f"{self._group}/{version}")
            for obj in converted:
                self.kinds[version].prune(obj)
        except (ConversionError, DecodeError) as error:
            raise StatusError(500, "", str(error)) from error
        return converted

    async def _convert(self, objects: Sequence[Object], api_version: str) -> list[Object]:
        source = GVK.of(objects[0]["apiVersion"], objects[0]["kind"])
        uid = new_uid()
        review = conversion_review(self._review_versions, objects, api_version, uid)
        review_version = review["apiVersion"].rpartition("/")[2]
        try:
            answer = orjson.loads(await self._clients.post(self._config, orjson.dumps(review), _TIMEOUT_S))
        except (CallError, orjson.JSONDecodeError) as error:
            raise ConversionError(f"conversion webhook for {source} failed: {error}") from error
        asked = Conversion(uid, api_version, source, listed=False, review_version=review_version)
        return accept_review(objects, answer, asked)


def _batches(objects: Sequence[Object]) -> Iterator[list[Object]]:
    batch: list[Object] = []
    size = 0
    for obj in objects:
        batch.append(obj)
        size += len(orjson.dumps(obj)) if len(objects) > 1 else 0
        if size >= _REVIEW_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
