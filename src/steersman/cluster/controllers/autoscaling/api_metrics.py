"""A metrics source that reads the metrics APIs: metrics.k8s.io, custom.metrics.k8s.io and
external.metrics.k8s.io.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import orjson

from steersman.client import Client, ClientError, NoSuchKind, NotFound
from steersman.cluster.controllers.metrics_source import MetricsError, PodMetric, PodMetrics
from steersman.objects.kinds import Object
from steersman.objects.quantities import Quantity
from steersman.objects.selectors import LabelSelector
from steersman.objects.times import parse_time

__all__ = ["ApiMetrics"]


_RESOURCE: Final = "/apis/metrics.k8s.io/v1beta1"
_CUSTOM: Final = "custom.metrics.k8s.io"
_CUSTOM_VERSIONS: Final = ("v1beta2", "v1beta1")
_EXTERNAL: Final = "/apis/external.metrics.k8s.io/v1beta1"
_seconds = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?").fullmatch


class ApiMetrics:
    """The `MetricsSource` that reads the metrics APIs, which an aggregated API server must serve."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def resource(
        self, namespace: str, selector: LabelSelector, resource: str, container: str
    ) -> PodMetrics:
        path = f"{_RESOURCE}/namespaces/{namespace}/pods"
        try:
            listed = await self._get(path, "pods.metrics.k8s.io", labelSelector=str(selector))
        except ClientError as error:
            raise MetricsError(f"unable to fetch metrics from resource metrics API: {error}") from error
        if not listed.get("items"):
            raise MetricsError("no metrics returned from resource metrics API")
        found = {}
        for item in listed["items"]:
            milli = _usage(item.get("containers") or (), resource, container)
            if milli is not None:
                name, time = item["metadata"]["name"], parse_time(item["timestamp"])
                found[name] = PodMetric(milli, time, _window(item.get("window") or ""))
        return found

    async def pods(
        self, namespace: str, selector: LabelSelector, metric: str, metric_selector: LabelSelector
    ) -> PodMetrics:
        path = f"namespaces/{namespace}/pods/*/{metric}"
        items = await self._custom(path, metric_selector, labelSelector=str(selector))
        if not items:
            raise MetricsError("no metrics returned from custom metrics API")
        found = {}
        for item in items:
            seconds = item.get("windowSeconds", item.get("window"))
            window = {} if seconds is None else {"window": timedelta(seconds=seconds)}
            found[item["describedObject"]["name"]] = PodMetric(_milli(item), _time(item), **window)
        return found

    async def object(
        self, namespace: str, reference: Mapping[str, Any], metric: str, metric_selector: LabelSelector
    ) -> int:
        api_version, kind = reference.get("apiVersion") or "v1", reference["kind"]
        if kind == "Namespace" and api_version == "v1":
            # Whatever it is called: an autoscaler does not look into other namespaces.
            path = f"namespaces/{namespace}/metrics/{metric}"
        else:
            try:
                resource = await self._client.resource_type(api_version, kind)
            except NoSuchKind as error:
                raise MetricsError(f"unable to fetch metrics from custom metrics API: {error}") from error
            plural = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
            path = f"namespaces/{namespace}/{plural}/{reference['name']}/{metric}"
        items = await self._custom(path, metric_selector)
        if len(items) != 1:
            raise MetricsError(
                "unable to fetch metrics from custom metrics API: the custom metrics API server returned "
                f"{len(items)} results when we asked for exactly one"
            )
        return _milli(items[0])

    async def external(self, namespace: str, metric: str, metric_selector: LabelSelector) -> list[int]:
        path = f"{_EXTERNAL}/namespaces/{namespace}/{metric}"
        try:
            listed = await self._get(
                path, f"{metric}.external.metrics.k8s.io", labelSelector=str(metric_selector)
            )
        except ClientError as error:
            raise MetricsError(f"unable to fetch metrics from external metrics API: {error}") from error
        if not listed.get("items"):
            raise MetricsError("no metrics returned from external metrics API")
        return [_milli(item) for item in listed["items"]]

    async def _custom(self, path: str, metric_selector: LabelSelector, **query: str) -> list[Object]:
        """The values of a custom metric, by whichever version of the API is served."""
        if not metric_selector.empty:
            query["metricLabelSelector"] = str(metric_selector)
        try:
            served = await self._get(f"/apis/{_CUSTOM}", _CUSTOM)
            versions = [one["version"] for one in served.get("versions") or ()]
            version = next(one for one in _CUSTOM_VERSIONS if one in versions)
            listed = await self._get(f"/apis/{_CUSTOM}/{version}/{path}", _CUSTOM, **query)
        except StopIteration:
            why = f"no custom metrics API ({_CUSTOM}) registered"
        except NotFound as error:
            why = str(error)
            if error.message.endswith(f"(get {_CUSTOM})"):
                why = f"no custom metrics API ({_CUSTOM}) registered"
        except ClientError as error:
            why = str(error)
        else:
            return list(listed.get("items") or ())
        raise MetricsError(f"unable to fetch metrics from custom metrics API: {why}")

    async def _get(self, path: str, what: str, **query: str) -> Object:
        filled = {name: value for name, value in query.items() if value}
        try:
            content = await self._client.request("GET", path, query=filled or None)
        except NotFound as error:
            if error.details and error.details.get("kind"):
                raise
            # No such API: the answer is not one of the API server's own.
            raise NotFound(
                error.code, error.reason, f"the server could not find the requested resource (get {what})"
            ) from error
        decoded: Object = orjson.loads(content)
        return decoded


def _usage(containers: Any, resource: str, container: str) -> int | None:
    """What a pod uses; None if that is not known of each container that counts."""
    chosen = [one for one in containers if not container or one["name"] == container]
    usages = [(one.get("usage") or {}).get(resource) for one in chosen]
    if not usages or None in usages:
        return None
    return sum(Quantity.parse(usage).milli_value for usage in usages if usage is not None)


def _milli(item: Object) -> int:
    return Quantity.parse(str(item["value"])).milli_value


def _time(item: Object) -> datetime:
    return parse_time(item["timestamp"])


def _window(text: str) -> timedelta:
    """A duration such as `1m0s`, as metrics servers write it."""
    matched = _seconds(text)
    if matched is None:
        return timedelta(0)
    hours, minutes, seconds = (float(part or 0) for part in matched.groups())
    return timedelta(hours=hours, minutes=minutes, seconds=seconds)
