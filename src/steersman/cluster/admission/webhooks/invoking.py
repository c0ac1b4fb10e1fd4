"""Calling one webhook for one write: the dry-run rule, the call, the checks, the failure policy.

Both webhook plugins use it; applying a patch is left to the mutating one.
"""

from __future__ import annotations

import logging
import time
import uuid
from dataclasses import dataclass
from typing import Any

from steersman.cluster.admission.chain import Attributes
from steersman.cluster.admission.webhooks.calling import CallError, WebhookClients
from steersman.cluster.admission.webhooks.configurations import Webhook
from steersman.cluster.admission.webhooks.errors import CallFailed
from steersman.cluster.admission.webhooks.metrics import AdmissionWebhookMetrics
from steersman.cluster.admission.webhooks.review import (
    InvalidReview,
    ReviewResponse,
    Undecodable,
    ask,
    denial,
    read_answer,
    review_version,
)
from steersman.cluster.admission.webhooks.versions import VersionedAttributes
from steersman.cluster.codec.errors import Malformed
from steersman.cluster.codec.json import parse
from steersman.objects.fields import quote
from steersman.objects.names import is_qualified_name
from steersman.objects.patches.gotext import go_kind
from steersman.objects.status import StatusError, bad_request, internal_error

__all__ = ["Invoker", "annotate"]

_log = logging.getLogger(__name__)


def annotate(attributes: Attributes, key: str, value: str) -> None:
    """Note something for the audit log: the first word on a key counts, a key that is none is dropped."""
    if is_qualified_name(key):
        _log.warning("%s is not a valid name of an audit annotation", quote(key))
        return
    attributes.annotations.setdefault(key, value)


@dataclass(frozen=True, slots=True)
class Invoker:
    """Calls webhooks."""

    clients: WebhookClients
    metrics: AdmissionWebhookMetrics
    #: "admit" or "validating", as metrics call them.
    kind: str
    #: What starts the key of the audit annotation about an ignored failure.
    failed_open: str

    @property
    def _mutating(self) -> bool:
        return self.kind == "admit"

    async def invoke(
        self, hook: Webhook, attributes: Attributes, versioned: VersionedAttributes, index: int
    ) -> Any | None:
        """The patch (None: nothing to change). Raises StatusError when the write is refused."""
        started = time.perf_counter()
        code, rejected = 200, False
        try:
            return await self._ask(hook, attributes, versioned)
        except CallFailed as error:
            code = error.code
            if not hook.ignore_failures:
                rejected = True
                raise internal_error(str(error)) from error
            _log.warning("failed calling webhook, failing open: %s", error)
            self.metrics.failed_open[hook.name, self.kind] += 1
            annotate(attributes, f"{self.failed_open}round_{attributes.round}_index_{index}", hook.name)
            return None
        except StatusError as error:
            code, rejected = error.code, True
            raise
        finally:
            spent_s = time.perf_counter() - started
            self.metrics.observe(hook.name, self.kind, attributes.operation, code, spent_s, rejected=rejected)

    async def _ask(self, hook: Webhook, attributes: Attributes, versioned: VersionedAttributes) -> Any | None:
        if attributes.dry_run and not hook.dry_run:
            raise bad_request(f"admission webhook {quote(hook.name)} does not support dry run")
        answer = await self._call(hook, attributes, versioned)
        for key, value in answer.annotations.items():
            annotate(attributes, f"{hook.name}/{key}", value)
        attributes.warnings.extend(answer.warnings)
        if not answer.allowed:
            raise denial(hook.name, answer.status)
        return self._patch(hook, answer)

    async def _call(
        self, hook: Webhook, attributes: Attributes, versioned: VersionedAttributes
    ) -> ReviewResponse:
        try:
            version = review_version(hook.review_versions)
        except InvalidReview as error:
            raise CallFailed(hook.name, f"could not create admission objects: {error}", 400) from None
        uid = str(uuid.uuid4())
        review = ask(uid, version, attributes, versioned)
        try:
            body = await self.clients.post(hook.client, review, hook.timeout_s)
        except CallError as error:
            raise CallFailed(hook.name, f"failed to call webhook: {error}", error.code) from error
        try:
            return read_answer(body, uid, version, mutating=self._mutating)
        except Undecodable as error:
            raise CallFailed(hook.name, f"failed to call webhook: {error}") from None
        except InvalidReview as error:
            raise CallFailed(hook.name, f"received invalid webhook response: {error}") from None

    @staticmethod
    def _patch(hook: Webhook, answer: ReviewResponse) -> Any | None:
        if not answer.patch:
            return None
        try:
            patch = parse(answer.patch)
        except Malformed as error:
            why = f"received undecodable patch in webhook response: {error}"
            raise CallFailed(hook.name, why) from None
        if why := _no_patch(patch):
            raise CallFailed(hook.name, f"received undecodable patch in webhook response: {why}")
        if patch and answer.patch_type != "JSONPatch":
            raise CallFailed(hook.name, f"unsupported patch type {quote(answer.patch_type)}", 400)
        return patch or None


def _no_patch(value: Any) -> str:
    """Why a JSON value is no JSON patch; empty when it is one."""
    if value is not None and not isinstance(value, list):
        return f"json: cannot unmarshal {go_kind(value)} into Go value of type jsonpatch.Patch"
    for operation in value or ():
        if operation is not None and not isinstance(operation, dict):
            return f"json: cannot unmarshal {go_kind(operation)} into Go value of type jsonpatch.Operation"
    return ""
