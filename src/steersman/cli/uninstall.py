"""`steer uninstall`: takes away what `steer manifests` put there, in an order in which nothing hangs."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from steersman.cli.failure import CommandFailed
from steersman.cli.options import ContextOption, KubeconfigOption
from steersman.cli.packaged import (
    HaOption,
    ModuleArgument,
    NameOption,
    NamespaceOption,
    Plan,
    WatchOption,
    released,
)
from steersman.cli.process import confirmed, run_briefly

if TYPE_CHECKING:
    from steersman.client import Client
    from steersman.operator.definition import Definition
    from steersman.operator.packaging import Release

__all__ = ["uninstall"]

_EXAMPLES = """Remove operators and their objects from a cluster.

This deletes the pods, webhooks, custom objects, CustomResourceDefinitions and RBAC rules, in an order
that leaves nothing stuck in deletion. The operator's finalizers are removed from its objects first;
external resources that the operator would have cleaned up remain. Use the same options as with `steer
manifests`.

Examples:

\b
  steer uninstall webapp.py
  steer uninstall webapp.py --yes --keep-crds    keep the objects
"""

_PATIENCE_S: Final = 60.0
_POLL_S: Final = 0.2
_WORKLOADS: Final = ("Deployment", "StatefulSet")
_CRD: Final = "CustomResourceDefinition"


def uninstall(
    module: ModuleArgument,
    name: NameOption = None,
    namespace: NamespaceOption = None,
    watch_namespace: WatchOption = None,
    ha: HaOption = None,
    keep_crds: Annotated[
        bool,
        typer.Option("--keep-crds", help="Keep the CustomResourceDefinitions and their objects."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
) -> None:
    from steersman.client import Client

    _, release = released(Plan(module, name, namespace, watch_namespace, ha))

    async def remove() -> None:
        async with Client.load(kubeconfig=kubeconfig, context=context) as client:
            removal = Removal(client, release, keep_crds=keep_crds, say=_say)
            if not yes:
                _ask(await removal.described())
            await removal.run()

    run_briefly(remove())


uninstall.__doc__ = _EXAMPLES


def _ask(what: str) -> None:
    if not sys.stdin.isatty():
        raise CommandFailed(f"this would remove {what}; confirm with --yes")
    if not confirmed(f"Remove {what}?"):
        raise CommandFailed("nothing was removed")


def _say(line: str) -> None:
    typer.echo(line)


class Removal:
    """What is to go, and how. Everything may be gone already, so that it can be done again."""

    def __init__(
        self, client: Client, release: Release, *, keep_crds: bool, say: Callable[[str], None]
    ) -> None:
        from steersman.operator import fencing_policy
        from steersman.operator.packaging import manifests

        self._client = client
        self._release = release
        self._keep_crds = keep_crds
        self._say = say
        # Fencing may have been asked for or not; it is looked for in any case.
        self._objects = [*fencing_policy(release.operators), *reversed(manifests(release))]
        self._definitions = [operator.definition for operator in release.operators]

    async def described(self) -> str:
        """In one line, for who is asked."""
        text = f"{self._release.name} from {self._client.host}"
        if self._keep_crds:
            return text
        counts = []
        for definition in self._own_kinds():
            count = len([obj async for obj in self._each(definition)])
            counts.append(f"all {count} objects of {definition.resource.kind}")
        return ", with ".join((text, *counts))

    async def run(self) -> None:
        await self._remove(lambda obj: obj["kind"] in _WORKLOADS)
        await self._wait_for_pods()
        await self._remove_webhooks()
        for definition in self._definitions:
            await self._remove_finalizers(definition)
        if not self._keep_crds:
            for definition in self._own_kinds():
                await self._remove_objects(definition)
            await self._remove(lambda obj: obj["kind"] == _CRD)
        await self._remove(lambda obj: obj["kind"] not in (*_WORKLOADS, _CRD))
        await self._remove_lease()

    def _own_kinds(self) -> list[Definition[Any]]:
        """Those whose objects go with the operator: kinds of the cluster itself are none of them."""
        from steersman.objects.custom import CustomResource

        return [each for each in self._definitions if issubclass(each.kind, CustomResource)]

    async def _remove(self, chosen: Callable[[dict[str, Any]], bool]) -> None:
        """Those of the release's objects, the last applied first."""
        from steersman.client import NoSuchKind, NotFound

        for obj in filter(chosen, self._objects):
            metadata = obj["metadata"]
            try:
                resource = await self._client.resource_type(obj["apiVersion"], obj["kind"])
                await self._client.delete(resource, metadata["name"], metadata.get("namespace"))
            except (NotFound, NoSuchKind):
                continue
            self._say(f"{obj['kind']} {metadata['name']} removed")

    async def _wait_for_pods(self) -> None:
        """An operator that still runs would put its finalizers back."""
        from steersman.objects.resources import PODS

        labels = ",".join(f"{name}={value}" for name, value in self._release.labels.items())
        try:
            async with asyncio.timeout(_PATIENCE_S):
                while await self._client.list(PODS, self._release.namespace, labels=labels):  # noqa: ASYNC110
                    await asyncio.sleep(_POLL_S)
        except TimeoutError:
            raise CommandFailed(f"pods of {self._release.name} are still running; try again later") from None

    async def _remove_webhooks(self) -> None:
        from steersman.webhooks import default_names
        from steersman.webhooks import uninstall as remove_webhooks

        with_hooks = [each for each in self._definitions if each.hooks or each.versions is not None]
        if with_hooks:
            name = with_hooks[0].name
            converted = [each.resource for each in with_hooks if each.versions is not None]
            for removed in await remove_webhooks(
                self._client,
                name,
                secret=default_names(name)[0],
                namespace=self._release.namespace,
                converted=converted,
            ):
                self._say(f"{removed} removed")

    async def _remove_finalizers(self, definition: Definition[Any]) -> None:
        from steersman.runtime import Writes
        from steersman.runtime.finalizers import remove_finalizer

        finalizer = definition.finalizer
        if finalizer is None:
            return
        writes = Writes(self._client, "steer", lambda _: None)
        count = 0
        async for obj in self._each(definition):
            if finalizer in obj["metadata"].get("finalizers", ()):
                await remove_finalizer(writes, definition.resource, obj, finalizer)
                count += 1
        if count:
            self._say(f"finalizer {finalizer} removed from {count} objects of {definition.resource.kind}")

    async def _remove_objects(self, definition: Definition[Any]) -> None:
        """They go before their definition does, so that who holds one can be told."""
        from steersman.client import NotFound

        resource, count = definition.resource, 0
        async for obj in self._each(definition):
            metadata = obj["metadata"]
            try:
                await self._client.delete(resource, metadata["name"], metadata.get("namespace"))
                count += 1
            except NotFound:
                continue
        if count:
            self._say(f"{count} objects of {resource.kind} removed")
        async for obj in self._each(definition):
            held = ", ".join(obj["metadata"].get("finalizers", ()))
            if held:
                where = "/".join(filter(None, (obj["metadata"].get("namespace"), obj["metadata"]["name"])))
                self._say(f"{resource.kind} {where} is still there because of other finalizers: {held}")

    async def _each(self, definition: Definition[Any]) -> AsyncIterator[dict[str, Any]]:
        """All objects of a kind; none if the API does not serve it."""
        from steersman.client import NotFound

        try:
            found = await self._client.list(definition.resource)
        except NotFound:
            return
        for obj in found:
            yield obj

    async def _remove_lease(self) -> None:
        from steersman.client import NotFound
        from steersman.election import Lease
        from steersman.objects.resources import LEASES

        for definition in self._definitions:
            election = definition.election
            if isinstance(election, Lease):
                place = election.namespace or self._release.namespace
                try:
                    await self._client.delete(LEASES, election.name, place)
                except NotFound:
                    continue
                self._say(f"Lease {election.name} removed")
