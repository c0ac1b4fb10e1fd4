"""Promises about admission webhooks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from tests.support.api import ApiClient, config_map
from tests.support.manifests import pod

from .definitions import custom, definition, definitions, establish, version
from .hooks import SERVICE, Backend, ca_bundle, service_for, serving
from .keeping import NAMESPACE, Collection, Object, bare_api, newer, promised

#: On namespaces and objects that the webhooks of a test are about.
MARK = {"e2e-unique": "true"}
GROUP = "admissionregistration.k8s.io/v1"
Keeping = Callable[[ApiClient, Backend], Awaitable[None]]


def promise(name: str) -> Callable[[Keeping], Callable[[], None]]:
    """A test with the webhooks deployed and its namespace marked for them."""
    promised(f"AdmissionWebhook {name}")

    def decorate(test: Keeping) -> Callable[[], None]:
        async def body() -> None:
            async with bare_api(**MARK) as client:
                hooks = Backend(client)
                async with serving(hooks.handle) as hooks.port:
                    accounts = Collection(client, "v1", "serviceaccounts", NAMESPACE)
                    await accounts.create({"metadata": {"name": "default"}})
                    await service_for(client)
                    await test(client, hooks)

        def run() -> None:
            asyncio.run(body())

        run.__name__, run.__doc__ = test.__name__, f"{name}."
        return run

    return decorate


def _rule(resource: str, *operations: str, group: str = "", of: str = "v1") -> Object:
    return {
        "operations": list(operations),
        "apiGroups": [group],
        "apiVersions": [of],
        "resources": [resource],
    }


def _hook(name: str, path: str, *rules: Object, **more: Any) -> Object:
    service = {"namespace": NAMESPACE, "name": SERVICE, "path": path}
    return {
        "name": f"{name}.k8s.io",
        "rules": list(rules),
        "clientConfig": {"service": service, "caBundle": ca_bundle()},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1", "v1beta1"],
        "namespaceSelector": {"matchLabels": MARK},
        **more,
    }


def _kind(client: ApiClient, *, mutating: bool) -> Collection:
    return Collection(client, GROUP, f"{'mutating' if mutating else 'validating'}webhookconfigurations")


async def _register(backend: Backend, *hooks: Object, mutating: bool = False, **metadata: Any) -> Object:
    wanted = {
        "metadata": {"name": "e2e", **metadata},
        "webhooks": [_at(hook, backend.port) for hook in hooks],
    }
    return await _kind(backend.client, mutating=mutating).create(wanted)


def _at(hook: Object, port: int) -> Object:
    """The webhook with the port where it is served."""
    config = hook["clientConfig"]
    return {**hook, "clientConfig": {**config, "service": {**config["service"], "port": port}}}


def _config_maps(client: ApiClient, namespace: str = NAMESPACE) -> Collection:
    return Collection(client, "v1", "configmaps", namespace)


def _pods(client: ApiClient) -> Collection:
    return Collection(client, "v1", "pods", NAMESPACE)


_CONFIG_MAPS = _rule("configmaps", "CREATE")
_UNSELECTED = {"key": "skip-webhook-admission", "operator": "NotIn", "values": ["yes"]}
_DENY_CONFIG_MAPS = _hook(
    "deny-unwanted-configmap-data",
    "/configmaps",
    _rule("configmaps", "CREATE", "UPDATE", "DELETE"),
    namespaceSelector={"matchLabels": MARK, "matchExpressions": [_UNSELECTED]},
)


def _mutate_config_maps(stage: int = 1, **more: Any) -> Object:
    return _hook(f"adding-configmap-data-stage-{stage}", "/mutating-configmaps", _CONFIG_MAPS, **more)


def _unreachable(name: str, policy: str, **more: Any) -> Object:
    """Without an authority its certificate is not believed."""
    hook = _hook(name, "/configmaps", _CONFIG_MAPS, failurePolicy=policy, **more)
    del hook["clientConfig"]["caBundle"]
    return hook


def _unwanted(name: str) -> Object:
    return config_map(name, **{"webhook-e2e-test": "webhook-disallow"})


def _to_be_mutated(name: str) -> Object:
    return config_map(name, **{"mutation-start": "yes"})


def _labelled_pod(name: str, word: str) -> Object:
    return pod(name, {"webhook-e2e-test": word}, containers=[{"name": word, "image": "pause"}])


async def _denied(client: ApiClient, name: str) -> bool:
    code, status = await client.ask("POST", _config_maps(client).path, _unwanted(name))
    assert code < 300 or "denied" in status["message"]
    return code >= 300


async def _mutated(client: ApiClient, name: str) -> bool:
    return "mutation-stage-1" in (await _config_maps(client).create(_to_be_mutated(name)))["data"]


@promise("should be able to deny pod and configmap creation")
async def test_pods_and_config_maps_are_denied(client: ApiClient, hooks: Backend) -> None:
    deny_pods = _hook(
        "deny-unwanted-pod-container-name-and-label", "/pods", _rule("pods", "CREATE"), timeoutSeconds=2
    )
    await _register(hooks, deny_pods, _DENY_CONFIG_MAPS, _unreachable("fail-open", "Ignore"))
    status = await _pods(client).refused(_labelled_pod("disallowed-pod", "webhook-disallow"), 400)
    assert "the pod contains unwanted container name" in status["message"]
    assert "the pod contains unwanted label" in status["message"]
    status = await _pods(client).refused(_labelled_pod("hanging-pod", "wait-forever"), 500)
    assert "webhook" in status["message"]
    assert "deadline" in status["message"]
    assert await _pods(client).gone("hanging-pod")
    config_maps, message = _config_maps(client), "the configmap contains unwanted key and value"
    assert message in (await config_maps.refused(_unwanted("disallowed-configmap"), 400))["message"]
    allowed = await config_maps.create(config_map("allowed-configmap", admit="this"))
    data = {"data": {"webhook-e2e-test": "webhook-disallow"}}
    code, status = await client.ask("PUT", config_maps.of("allowed-configmap"), {**allowed, **data})
    assert (code, message in status["message"]) == (400, True)
    patching = {"content-type": "application/strategic-merge-patch+json"}
    code, status = await client.ask("PATCH", config_maps.of("allowed-configmap"), data, patching)
    assert (code, message in status["message"]) == (400, True)
    labels = {**MARK, "skip-webhook-admission": "yes"}
    await client.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "exempted", "labels": labels}})
    await _config_maps(client, "exempted").create(_unwanted("disallowed-configmap"))


@promise("should be able to deny attaching pod")
async def test_attaching_is_denied(client: ApiClient, hooks: Backend) -> None:
    await _register(hooks, _hook("deny-attaching-pod", "/pods/attach", _rule("pods/attach", "CONNECT")))
    wanted = pod("to-be-attached-pod", containers=[{"name": "container1", "image": "pause"}])
    await _pods(client).create(wanted)
    target = _pods(client).of("to-be-attached-pod", "attach", stdin="true", container="container1")
    code, status = await client.ask("POST", target)
    assert code == 400
    assert "attaching to pod 'to-be-attached-pod' is not allowed" in status["message"]


_E2E = definition("webhook.example.com", "E2eTestCrd")


async def _register_for_custom(
    hooks: Backend, path: str, *operations: str, mutating: bool, stages: int = 1
) -> None:
    rule = _rule("e2etestcrds", *operations, group="webhook.example.com", of="*")
    made = [_hook(f"custom-resource-stage-{stage}", path, rule) for stage in range(stages)]
    await _register(hooks, *made, mutating=mutating)


def _instance(name: str, word: str, value: str) -> Object:
    head = {"apiVersion": "webhook.example.com/v1", "kind": "E2eTestCrd", "metadata": {"name": name}}
    return {**head, "data": {word: value}}


@promise("should be able to deny custom resource creation, update and deletion")
async def test_custom_resources_are_denied(client: ApiClient, hooks: Backend) -> None:
    objects = custom(client, await establish(client, _E2E), namespace=NAMESPACE)
    await _register_for_custom(hooks, "/custom-resource", "CREATE", "UPDATE", "DELETE", mutating=False)
    message = "the custom resource contains unwanted data"
    status = await objects.refused(_instance("cr-1", "webhook-e2e-test", "webhook-disallow"), 400)
    assert message in status["message"]
    made = await objects.create(_instance("cr-2", "webhook-e2e-test", "webhook-nondeletable"))
    wrong = {**made, "data": {"webhook-e2e-test": "webhook-disallow"}}
    code, status = await client.ask("PUT", objects.of("cr-2"), wrong)
    assert (code, message in status["message"]) == (400, True)
    code, status = await client.ask("DELETE", objects.of("cr-2"))
    assert code == 400
    kept = "the custom resource cannot be deleted because it contains unwanted key and value"
    assert kept in status["message"]
    await objects.change("cr-2", lambda obj: {**obj, "data": {"webhook-e2e-test": "webhook-allow"}})
    await objects.delete("cr-2")


@promise("should unconditionally reject operations on fail closed webhook")
async def test_what_cannot_be_asked_about_is_refused(client: ApiClient, hooks: Backend) -> None:
    only = {"key": "fail-closed-webhook", "operator": "In", "values": ["yes"]}
    selector = {"matchLabels": MARK, "matchExpressions": [only]}
    await _register(hooks, _unreachable("fail-closed", "Fail", namespaceSelector=selector))
    labels = {**MARK, "fail-closed-webhook": "yes"}
    await client.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "fail-closed", "labels": labels}})
    status = await _config_maps(client, "fail-closed").refused(config_map("foo"), 500)
    assert status["reason"] == "InternalError"


@promise("should mutate configmap")
async def test_config_maps_are_mutated_in_order(client: ApiClient, hooks: Backend) -> None:
    await _register(hooks, _mutate_config_maps(1), _mutate_config_maps(2), mutating=True)
    made = await _config_maps(client).create(_to_be_mutated("to-be-mutated"))
    assert made["data"] == {"mutation-start": "yes", "mutation-stage-1": "yes", "mutation-stage-2": "yes"}


@promise("should mutate pod and apply defaults after mutation")
async def test_what_a_webhook_adds_gets_defaults(client: ApiClient, hooks: Backend) -> None:
    await _register(
        hooks, _hook("adding-init-container", "/mutating-pods", _rule("pods", "CREATE")), mutating=True
    )
    made = await _pods(client).create(pod("webhook-to-be-mutated"))
    [container] = made["spec"]["initContainers"]
    assert container["name"] == "webhook-added-init-container"
    assert container["terminationMessagePolicy"] == "File"


@promise("should not be able to mutate or prevent deletion of webhook configuration objects")
async def test_webhook_configurations_are_not_asked_about(client: ApiClient, hooks: Backend) -> None:
    plurals = ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")

    def rule(operation: str) -> Object:
        every = _rule("", operation, group="admissionregistration.k8s.io", of="*")
        return {**every, "resources": list(plurals)}

    blocking = {"failurePolicy": "Fail"}
    deny = _hook("deny-webhook-configuration-deletions", "/always-deny", rule("DELETE"), **blocking)
    label = _hook("add-label-to-webhook-configurations", "/add-label", rule("CREATE"), **blocking)
    await _register(hooks, deny, name="blocking")
    await _register(hooks, label, mutating=True, name="blocking")
    for mutating in (False, True):
        dummy = _hook("dummy", "", _rule("invalid", "CREATE"), failurePolicy="Ignore")
        del dummy["clientConfig"]["caBundle"]
        made = await _register(hooks, dummy, mutating=mutating)
        assert "added-label" not in made["metadata"].get("labels", {})
        await _kind(client, mutating=mutating).delete("e2e")
        assert await _kind(client, mutating=mutating).gone("e2e")


@promise("should mutate custom resource")
async def test_custom_resources_are_mutated(client: ApiClient, hooks: Backend) -> None:
    objects = custom(client, await establish(client, _E2E), namespace=NAMESPACE)
    await _register_for_custom(
        hooks, "/mutating-custom-resource", "CREATE", "UPDATE", mutating=True, stages=2
    )
    made = await objects.create(_instance("cr-1", "mutation-start", "yes"))
    assert made["data"] == {"mutation-start": "yes", "mutation-stage-1": "yes", "mutation-stage-2": "yes"}


@promise("should deny crd creation")
async def test_definitions_are_denied(client: ApiClient, hooks: Backend) -> None:
    rule = _rule("customresourcedefinitions", "CREATE", group="apiextensions.k8s.io", of="*")
    about = {"namespaceSelector": {}, "objectSelector": {"matchLabels": MARK}}
    await _register(hooks, _hook("deny-crd-with-unwanted-label", "/crd", rule, **about))
    labels = {**MARK, "webhook-e2e-test": "webhook-disallow"}
    status = await definitions(client).refused(definition("e.example.com", "Denied", labels=labels), 400)
    assert "the crd contains unwanted label" in status["message"]


@promise("should mutate custom resource with different stored version")
async def test_custom_resources_are_mutated_in_another_stored_version(
    client: ApiClient, hooks: Backend
) -> None:
    both = (version("v1"), version("v2", storage=False))
    made = await establish(client, definition("webhook.example.com", "E2eTestCrd", *both))
    await _register_for_custom(
        hooks, "/mutating-custom-resource", "CREATE", "UPDATE", mutating=True, stages=2
    )
    await custom(client, made, "v1", NAMESPACE).create(_instance("cr-1", "mutation-start", "yes"))
    stored = {"spec": {"versions": [version("v1", storage=False), version("v2")]}}
    await definitions(client).patch(made["metadata"]["name"], stored, "strategic")
    patch = [{"op": "add", "path": "/dummy", "value": "test"}]
    changed = await custom(client, made, "v2", NAMESPACE).patch("cr-1", patch, "json")
    assert changed["data"] == {"mutation-start": "yes", "mutation-stage-1": "yes", "mutation-stage-2": "yes"}
    assert changed["dummy"] == "test"


@promise("should mutate custom resource with pruning")
async def test_what_the_schema_does_not_have_is_pruned_after_mutation(
    client: ApiClient, hooks: Backend
) -> None:
    fields = {name: {"type": "string"} for name in ("mutation-start", "mutation-stage-1")}
    schema = {"type": "object", "properties": {"data": {"type": "object", "properties": fields}}}
    both = (version("v1", schema), version("v2", schema, storage=False))
    made = await establish(client, definition("webhook.example.com", "E2eTestCrd", *both))
    await _register_for_custom(
        hooks, "/mutating-custom-resource", "CREATE", "UPDATE", mutating=True, stages=2
    )
    one = await custom(client, made, namespace=NAMESPACE).create(_instance("cr-1", "mutation-start", "yes"))
    assert one["data"] == {"mutation-start": "yes", "mutation-stage-1": "yes"}


@promise("should honor timeout")
async def test_a_webhook_has_so_much_time(client: ApiClient, hooks: Backend) -> None:
    hooks.slowness_s = 1.3
    config_maps = _config_maps(client)
    for policy, seconds in (("Fail", 1), ("Ignore", 1), ("Fail", 10), ("Fail", None)):
        timeout = {} if seconds is None else {"timeoutSeconds": seconds}
        slow = _hook("slow", "/always-allow-delay-5s", _CONFIG_MAPS, failurePolicy=policy, **timeout)
        made = await _register(hooks, slow)
        assert made["webhooks"][0]["timeoutSeconds"] == (seconds or 10)
        if (policy, seconds) == ("Fail", 1):
            status = await config_maps.refused(config_map("slow"), 500)
            assert "context deadline exceeded" in status["message"]
            assert "/always-allow-delay-5s?timeout=1s" in status["message"]
        else:
            await config_maps.create(config_map("slow"))
            await config_maps.delete("slow")
        await _kind(client, mutating=False).delete("e2e")


async def _update_operations(kind: Collection, *operations: str) -> None:
    def change(obj: Object) -> Object:
        obj["webhooks"][0]["rules"][0]["operations"] = list(operations)
        return obj

    await kind.change("e2e", change)


async def _takes_effect(hooks: Backend, hook: Object, *, mutating: bool) -> None:
    """A configuration is in force, then by an update not for creations, then again by a patch."""
    client, effect = hooks.client, _mutated if mutating else _denied
    kind = _kind(client, mutating=mutating)
    made = await _register(hooks, hook, mutating=mutating)
    assert await effect(client, "one")
    await _update_operations(kind, "UPDATE")
    assert not await effect(client, "two")
    patch = [{"op": "replace", "path": "/webhooks/0/rules/0/operations", "value": ["CREATE"]}]
    assert newer(await kind.patch("e2e", patch, "json"), made)
    assert await effect(client, "three")


@promise("patching/updating a validating webhook should work")
async def test_a_changed_validating_webhook_is_in_force(client: ApiClient, hooks: Backend) -> None:
    await _takes_effect(hooks, _DENY_CONFIG_MAPS, mutating=False)


@promise("patching/updating a mutating webhook should work")
async def test_a_changed_mutating_webhook_is_in_force(client: ApiClient, hooks: Backend) -> None:
    await _takes_effect(hooks, _mutate_config_maps(), mutating=True)


async def _listed(hooks: Backend, hook: Object, *, mutating: bool) -> None:
    client, effect = hooks.client, _mutated if mutating else _denied
    kind, label = _kind(client, mutating=mutating), {"e2e-list-test-uuid": "x"}
    for number in range(10):
        await _register(hooks, hook, mutating=mutating, name=f"e2e-{number}", labels=label)
    assert len(await kind.list("e2e-list-test-uuid=x")) == 10
    assert await effect(client, "one")
    await kind.delete_all("e2e-list-test-uuid=x")
    assert not await effect(client, "two")


@promise("listing validating webhooks should work")
async def test_validating_webhooks_are_listed(client: ApiClient, hooks: Backend) -> None:
    await _listed(hooks, _DENY_CONFIG_MAPS, mutating=False)


@promise("listing mutating webhooks should work")
async def test_mutating_webhooks_are_listed(client: ApiClient, hooks: Backend) -> None:
    await _listed(hooks, _mutate_config_maps(), mutating=True)


def _conditions(*namespaces: str) -> list[Object]:
    return [
        {"name": f"expression-{number}", "expression": f"object.metadata.namespace == '{name}'"}
        for number, name in enumerate(namespaces, 1)
    ]


async def _conditional(hooks: Backend, *, mutating: bool) -> None:
    kind = _kind(hooks.client, mutating=mutating)
    conditional = _hook(
        "conditional", "/always-deny", _CONFIG_MAPS, matchConditions=_conditions("production")
    )
    await _register(hooks, conditional, mutating=mutating)
    assert (await kind.get("e2e"))["webhooks"][0]["matchConditions"] == _conditions("production")
    more = _conditions("production", "staging")

    def change(obj: Object) -> Object:
        obj["webhooks"][0]["matchConditions"] = more
        return obj

    await kind.change("e2e", change)
    assert (await kind.get("e2e"))["webhooks"][0]["matchConditions"] == more


@promise("should be able to create and update validating webhook configurations with match conditions")
async def test_validating_webhooks_have_conditions(client: ApiClient, hooks: Backend) -> None:
    await _conditional(hooks, mutating=False)


@promise("should be able to create and update mutating webhook configurations with match conditions")
async def test_mutating_webhooks_have_conditions(client: ApiClient, hooks: Backend) -> None:
    await _conditional(hooks, mutating=True)


async def _bad_condition(hooks: Backend, *, mutating: bool) -> None:
    bad = [{"name": "invalid-expression-1", "expression": "... [] bad expression"}]
    wanted = {
        "metadata": {"name": "e2e"},
        "webhooks": [_hook("conditional", "/always-deny", _CONFIG_MAPS, matchConditions=bad)],
    }
    status = await _kind(hooks.client, mutating=mutating).refused(wanted, 422)
    assert "compilation failed" in status["message"]


@promise("should reject validating webhook configurations with invalid match conditions")
async def test_validating_webhooks_with_bad_conditions_are_refused(client: ApiClient, hooks: Backend) -> None:
    await _bad_condition(hooks, mutating=False)


@promise("should reject mutating webhook configurations with invalid match conditions")
async def test_mutating_webhooks_with_bad_conditions_are_refused(client: ApiClient, hooks: Backend) -> None:
    await _bad_condition(hooks, mutating=True)


@promise("should mutate everything except 'skip-me' configmaps")
async def test_conditions_leave_objects_out(client: ApiClient, hooks: Backend) -> None:
    condition = {"name": "skip-me", "expression": "object.metadata.name != 'skip-me'"}
    await _register(hooks, _mutate_config_maps(matchConditions=[condition]), mutating=True)
    made = await _config_maps(client).create(_to_be_mutated("another"))
    assert made["data"] == {"mutation-start": "yes", "mutation-stage-1": "yes"}
    made = await _config_maps(client).create(_to_be_mutated("skip-me"))
    assert made["data"] == {"mutation-start": "yes"}
