"""Create, update, patch and delete: what is kept, what is refused, what races do."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.api import ApiClient, Object, config_map, with_api

MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


def pod(name: str, **spec: object) -> Object:
    containers = [{"name": "c", "image": "nginx:1.27"}]
    return {"metadata": {"name": name}, "spec": {"containers": containers, **spec}}


def deployment(name: str) -> Object:
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "c", "image": "nginx:1.27"}]},
    }
    return {
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": template},
    }


@with_api
async def test_generated_names_have_the_prefix_and_differ(client: ApiClient) -> None:
    body = {"metadata": {"generateName": "gen-"}}
    created = [await client.ok("POST", MAPS, body) for _ in range(5)]
    names = {each["metadata"]["name"] for each in created}
    assert len(names) == 5
    assert all(name.startswith("gen-") and len(name) == 9 for name in names)


@with_api
async def test_a_dry_run_shows_the_version_it_was_given(client: ApiClient) -> None:
    body = config_map("a")
    body["metadata"]["resourceVersion"] = "x5"
    dry = await client.ok("POST", f"{MAPS}?dryRun=All", body)
    assert dry["metadata"]["resourceVersion"] == "x5"
    made = await client.ok("POST", MAPS, body)
    assert made["metadata"]["resourceVersion"].isdecimal()


@with_api
async def test_creating_what_is_being_deleted_says_so(client: ApiClient) -> None:
    body = config_map("a")
    body["metadata"]["finalizers"] = ["example.com/hold"]
    await client.ok("POST", MAPS, body)
    await client.ok("DELETE", f"{MAPS}/a")
    code, status = await client.ask("POST", MAPS, config_map("a"))
    assert (code, status["message"]) == (409, 'object is being deleted: configmaps "a" already exists')


@with_api
async def test_an_update_that_changes_nothing_keeps_the_revision(client: ApiClient) -> None:
    await client.ok("POST", MAPS, config_map("a", k="v"))
    before = await client.ok("GET", f"{MAPS}/a")
    after = await client.ok("PUT", f"{MAPS}/a", before)
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    _, patched = await client.patch(f"{MAPS}/a", {"data": {"k": "v"}})
    assert patched["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


@with_api
async def test_identity_cannot_be_changed_by_an_update(client: ApiClient) -> None:
    created = await client.ok("POST", MAPS, config_map("a"))
    body = config_map("a", k="v")
    body["metadata"]["creationTimestamp"] = "2001-01-01T00:00:00Z"
    updated = await client.ok("PUT", f"{MAPS}/a", body)
    assert updated["metadata"]["creationTimestamp"] == created["metadata"]["creationTimestamp"]
    assert updated["metadata"]["uid"] == created["metadata"]["uid"]
    body["metadata"]["uid"] = "11111111-1111-4111-8111-111111111111"
    code, status = await client.ask("PUT", f"{MAPS}/a", body)
    assert (code, status["reason"]) == (409, "Conflict")
    assert "Precondition failed: UID in precondition" in status["message"]


_OTHER_UID = "11111111-1111-4111-8111-111111111111"


@pytest.mark.parametrize(
    ("path", "query", "key"),
    [
        (MAPS, "", "/registry/configmaps/default/a"),
        (MAPS, "?dryRun=All", "/configmaps/default/a"),
        ("/api/v1/namespaces/default/endpoints", "", "/registry/services/endpoints/default/a"),
    ],
    ids=["stored", "dry run", "kept elsewhere"],
)
def test_a_put_of_another_uid_is_a_conflict_below(path: str, query: str, key: str) -> None:
    @with_api
    async def check(client: ApiClient) -> None:
        made = await client.ok("POST", path, {"metadata": {"name": "a"}})
        body = {"metadata": {"name": "a", "uid": _OTHER_UID}}
        code, status = await client.ask("PUT", f"{path}/a{query}", body)
        assert (code, status["message"].partition("StorageError: ")[2]) == (
            409,
            f"invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition "
            f"failed: UID in precondition: {_OTHER_UID}, UID in object meta: {made['metadata']['uid']}",
        )

    check()


@with_api
async def test_a_patch_cannot_change_the_uid(client: ApiClient) -> None:
    await client.ok("POST", MAPS, config_map("a"))
    code, status = await client.patch(f"{MAPS}/a", {"metadata": {"uid": "x"}})
    message = 'ConfigMap "a" is invalid: metadata.uid: Invalid value: "x": field is immutable'
    assert (code, status["message"]) == (422, message)


@pytest.mark.parametrize(
    ("method", "version", "answer"),
    [
        ("POST", "5", (500, None, "resourceVersion should not be set on objects to be created")),
        ("POST", "0", (201, None, None)),
        ("POST", "x", (201, None, None)),
        ("PUT", "0", (200, None, None)),
        ("PUT", "x", (500, None, 'strconv.ParseUint: parsing "x": invalid syntax')),
    ],
)
def test_versions_in_bodies(method: str, version: str, answer: tuple[int, str | None, str | None]) -> None:
    @with_api
    async def check(client: ApiClient) -> None:
        path = MAPS
        if method == "PUT":
            await client.ok("POST", MAPS, config_map("a"))
            path = f"{MAPS}/a"
        code, status = await client.ask(method, path, {"metadata": {"name": "a", "resourceVersion": version}})
        assert (code, status.get("reason"), status.get("message")) == answer

    check()


@with_api
async def test_racing_patches_all_land(client: ApiClient) -> None:
    await client.ok("POST", MAPS, config_map("a"))
    patches = [client.patch(f"{MAPS}/a", {"data": {f"k{number}": "v"}}) for number in range(5)]
    answers = await asyncio.gather(*patches)
    assert [code for code, _ in answers] == [200] * 5
    final = await client.ok("GET", f"{MAPS}/a")
    assert final["data"].keys() == {f"k{number}" for number in range(5)}


@with_api
async def test_racing_conditional_updates_let_one_win(client: ApiClient) -> None:
    await client.ok("POST", MAPS, config_map("a"))
    base = await client.ok("GET", f"{MAPS}/a")
    puts = [client.ask("PUT", f"{MAPS}/a", {**base, "data": {"winner": str(n)}}) for n in range(8)]
    codes = sorted([code for code, _ in await asyncio.gather(*puts)])
    assert codes == [200] + [409] * 7


@with_api
async def test_racing_creates_let_one_win(client: ApiClient) -> None:
    posts = [client.ask("POST", MAPS, config_map("a", n=str(n))) for n in range(8)]
    codes = sorted([code for code, _ in await asyncio.gather(*posts)])
    assert codes == [201] + [409] * 7


@with_api
async def test_generation_grows_with_the_spec_only(client: ApiClient) -> None:
    await client.ok("POST", DEPLOYMENTS, deployment("d"))
    path = f"{DEPLOYMENTS}/d"
    _, labelled = await client.patch(path, {"metadata": {"labels": {"a": "b"}}})
    _, status = await client.patch(f"{path}/status", {"status": {"replicas": 3}, "spec": {"replicas": 9}})
    assert (labelled["metadata"]["generation"], status["metadata"]["generation"]) == (1, 1)
    assert (status["spec"]["replicas"], status["status"]["replicas"]) == (1, 3)
    _, scaled = await client.patch(path, {"spec": {"replicas": 2}, "status": {"replicas": 7}})
    assert (scaled["metadata"]["generation"], scaled["status"]["replicas"]) == (2, 3)


@with_api
async def test_a_put_creates_where_the_resource_allows_it(client: ApiClient) -> None:
    lease = {"metadata": {"name": "l", "namespace": "default"}, "spec": {"holderIdentity": "me"}}
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l"
    code, created = await client.ask("PUT", path, lease)
    assert code == 201
    code, status = await client.ask("PUT", path, lease)
    assert code == 422
    assert "metadata.resourceVersion: Invalid value: 0: must be specified for an update" in status["message"]
    code, _ = await client.ask("PUT", path, {**created, "spec": {"holderIdentity": "you"}})
    assert code == 200


@pytest.mark.parametrize("kind", ["json", "merge", "strategic-merge"])
def test_a_broken_patch_is_a_bad_request(kind: str) -> None:
    async def body(client: ApiClient) -> None:
        await client.ok("POST", DEPLOYMENTS, deployment("d"))
        code, status = await client.patch(f"{DEPLOYMENTS}/d", b"{nope", kind)
        assert (code, status["reason"]) == (400, "BadRequest")
        assert status["message"] == "invalid JSON patch"
        # That is seen before there is something to change, and nothing else.
        assert (await client.patch(f"{DEPLOYMENTS}/none", b"{nope", kind))[0] == 400
        assert (await client.patch(f"{DEPLOYMENTS}/none", b"1", kind))[0] == 404

    with_api(body)()


@with_api
async def test_unknown_fields_in_a_patch_warn_or_fail_as_asked(client: ApiClient) -> None:
    await client.ok("POST", DEPLOYMENTS, deployment("d"))
    merge = {"content-type": "application/merge-patch+json"}
    change = {"spec": {"replicaz": 1}}
    warned = await client.raw("PATCH", f"{DEPLOYMENTS}/d?fieldValidation=Warn", change, merge)
    assert warned.headers.get_all("warning") == ['299 - "unknown field \\"spec.replicaz\\""']
    code, status = await client.ask("PATCH", f"{DEPLOYMENTS}/d?fieldValidation=Strict", change, merge)
    assert code == 422
    assert 'strict decoding error: unknown field "spec.replicaz"' in status["message"]


@with_api
async def test_dry_run_changes_nothing(client: ApiClient) -> None:
    await client.ok("POST", MAPS, config_map("a", k="v"))
    before = await client.ok("GET", f"{MAPS}/a")
    changed = await client.ok("PUT", f"{MAPS}/a?dryRun=All", config_map("a", k="w"))
    assert changed["data"] == {"k": "w"}
    await client.ok("DELETE", f"{MAPS}/a?dryRun=All")
    await client.ok("DELETE", f"{MAPS}?dryRun=All")
    assert await client.ok("GET", f"{MAPS}/a") == before


@with_api
async def test_pods_end_gracefully_and_only_faster(client: ApiClient) -> None:
    await client.ok("POST", PODS, pod("p", nodeName="n", terminationGracePeriodSeconds=40))
    path = f"{PODS}/p"
    first = (await client.ok("DELETE", path))["metadata"]
    assert (first["deletionGracePeriodSeconds"], first["generation"]) == (40, 2)
    longer = (await client.ok("DELETE", path, {"gracePeriodSeconds": 100}))["metadata"]
    assert longer["deletionGracePeriodSeconds"] == 40
    shorter = (await client.ok("DELETE", path, {"gracePeriodSeconds": 5}))["metadata"]
    assert shorter["deletionGracePeriodSeconds"] == 5
    assert shorter["deletionTimestamp"] < first["deletionTimestamp"]
    await client.ok("DELETE", path, {"gracePeriodSeconds": 0})
    assert (await client.ask("GET", path))[0] == 404


@with_api
async def test_watchers_see_the_end_of_a_pod_coming(client: ApiClient) -> None:
    await client.ok("POST", PODS, pod("p"))
    async with client.watch(f"{PODS}?watch=1&resourceVersion=0") as events:
        assert (await events.next())["type"] == "ADDED"
        deleted = await client.ok("DELETE", f"{PODS}/p")
        marked, gone = await events.next(), await events.next()
    assert (marked["type"], gone["type"]) == ("MODIFIED", "DELETED")
    for metadata in (deleted["metadata"], marked["object"]["metadata"]):
        assert (metadata["deletionGracePeriodSeconds"], metadata["generation"]) == (0, 2)


@with_api
async def test_a_namespace_terminates_before_it_is_gone(client: ApiClient) -> None:
    path = "/api/v1/namespaces/a"
    await client.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "a"}})
    await client.ok("PUT", f"{path}/finalize", {"metadata": {"name": "a"}, "spec": {"finalizers": []}})
    assert (await client.ok("DELETE", path))["status"]["phase"] == "Terminating"
    assert (await client.ok("GET", path))["metadata"]["deletionTimestamp"]
    await client.ok("DELETE", path)
    assert (await client.ask("GET", path))[0] == 404


@pytest.mark.parametrize(
    ("path", "body", "resource", "words"),
    [
        ("/api/v1/namespaces", {"metadata": {"name": "a"}}, "namespaces", "Precondition failed: UID in"),
        (MAPS, {"metadata": {"name": "a"}}, "ConfigMap", "the UID in the precondition (x) does not match"),
    ],
)
def test_preconditions_of_deletion(path: str, body: Object, resource: str, words: str) -> None:
    @with_api
    async def check(client: ApiClient) -> None:
        await client.ok("POST", path, body)
        code, status = await client.ask("DELETE", f"{path}/a", {"preconditions": {"uid": "x"}})
        assert code == 409
        assert status["message"].startswith(f'Operation cannot be fulfilled on {resource} "a": {words}')

    check()


@with_api
async def test_deleting_a_job_warns_of_its_pods(client: ApiClient) -> None:
    path = "/apis/batch/v1/namespaces/default/jobs"
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}}
    await client.ok("POST", path, {"metadata": {"name": "j"}, "spec": {"template": template}})
    warned = await client.raw("DELETE", f"{path}/j?dryRun=All")
    assert warned.headers.get_all("warning")[0].startswith('299 - "child pods are preserved by default')
    silent = await client.raw("DELETE", f"{path}/j?propagationPolicy=Orphan")
    assert silent.headers.get_all("warning") == []
    refused = await client.raw("DELETE", f"{path}?fieldSelector=spec.x%3D1")
    assert (refused.status, refused.headers.get_all("warning")) == (400, [])


@with_api
async def test_the_last_finalizer_takes_the_object_with_it(client: ApiClient) -> None:
    body = config_map("a")
    body["metadata"]["finalizers"] = ["example.com/x", "example.com/y"]
    await client.ok("POST", MAPS, body)
    await client.ok("DELETE", f"{MAPS}/a", {"propagationPolicy": "Orphan"})
    held = (await client.ok("GET", f"{MAPS}/a"))["metadata"]
    assert held["finalizers"] == ["example.com/x", "example.com/y", "orphan"]
    await client.patch(f"{MAPS}/a", {"metadata": {"finalizers": ["example.com/x"]}})
    assert (await client.ask("GET", f"{MAPS}/a"))[0] == 200
    code, _ = await client.patch(f"{MAPS}/a", {"metadata": {"finalizers": None}})
    assert code == 200
    assert (await client.ask("GET", f"{MAPS}/a"))[0] == 404


@with_api
async def test_system_priority_classes_stay(client: ApiClient) -> None:
    path = "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical"
    code, body = await client.ask("DELETE", path)
    assert (code, body["message"]) == (
        403,
        'priorityclasses.scheduling.k8s.io "system-node-critical" is forbidden: this is a system priority '
        "class and cannot be deleted",
    )


@with_api
async def test_what_can_be_read_is_not_deleted_unsafely(client: ApiClient) -> None:
    await client.ok("POST", MAPS, config_map("a"))
    body = {"ignoreStoreReadErrorWithClusterBreakingPotential": True}
    code, answer = await client.ask("DELETE", f"{MAPS}/a", body)
    assert (code, answer["message"]) == (
        409,
        'Operation cannot be fulfilled on configmaps "a": StorageError: invalid object, Code: 4, Key: '
        "/registry/configmaps/default/a, ResourceVersion: 0, AdditionalErrorMsg: unsafe deletion is not "
        "allowed because the object is decodable from storage",
    )


@with_api
async def test_a_stale_precondition_stops_a_deletion(client: ApiClient) -> None:
    created = await client.ok("POST", MAPS, config_map("a"))
    stale = {"preconditions": {"resourceVersion": created["metadata"]["resourceVersion"]}}
    await client.patch(f"{MAPS}/a", {"data": {"k": "v"}})
    code, status = await client.ask("DELETE", f"{MAPS}/a", stale)
    assert (code, status["reason"]) == (409, "Conflict")
    assert "does not match the ResourceVersion in record" in status["message"]


@with_api
async def test_a_collection_is_deleted_by_selector(client: ApiClient) -> None:
    for name, color in (("a", "red"), ("b", "blue"), ("c", "red")):
        await client.ok("POST", MAPS, config_map(name, {"color": color}))
    gone = await client.ok("DELETE", f"{MAPS}?labelSelector=color%3Dred")
    assert [item["metadata"]["name"] for item in gone["items"]] == ["a", "c"]
    left = await client.ok("GET", MAPS)
    assert [item["metadata"]["name"] for item in left["items"]] == ["b"]


@with_api
async def test_namespaces_the_cluster_needs_stay(client: ApiClient) -> None:
    code, status = await client.ask("DELETE", "/api/v1/namespaces/kube-system")
    assert code == 403
    assert status["message"] == 'namespaces "kube-system" is forbidden: this namespace may not be deleted'


@with_api
async def test_a_namespace_goes_when_it_is_finalized(client: ApiClient) -> None:
    await client.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "gone"}})
    path = "/api/v1/namespaces/gone"
    terminating = await client.ok("DELETE", path)
    assert terminating["status"]["phase"] == "Terminating"
    terminating["spec"]["finalizers"] = []
    await client.ok("PUT", f"{path}/finalize", terminating)
    assert (await client.ask("GET", path))[0] == 404


@with_api
async def test_too_large_a_body_is_refused_as_a_status(client: ApiClient) -> None:
    code, status = await client.ask("POST", MAPS, config_map("a", k="x" * (4 << 20)))
    assert (code, status["kind"], status["reason"]) == (413, "Status", "RequestEntityTooLarge")


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("PUT", MAPS, 405),
        ("POST", f"{MAPS}/a", 405),
        ("PATCH", MAPS, 405),
        ("HEAD", MAPS, 405),
        ("HEAD", f"{MAPS}/a", 405),
        ("GET", f"{MAPS}/a/nope", 404),
        ("POST", "/api/v1/configmaps", 405),
        ("DELETE", "/api/v1/configmaps", 405),
        ("GET", "/api/v1/configmaps/a", 404),
        ("GET", "/api/v1/namespaces/default/nodes", 404),
        ("GET", "/api/v2/configmaps", 404),
        ("GET", "/apis/nope/v1/things", 404),
        ("DELETE", "/version", 405),
    ],
)
def test_requests_that_make_no_sense(method: str, path: str, code: int) -> None:
    async def body(client: ApiClient) -> None:
        answer = await client.raw(
            method, path, config_map("a") if method in ("PUT", "POST", "PATCH") else None
        )
        assert answer.status == code

    with_api(body)()


@pytest.mark.parametrize("owners", [[], [{}]], ids=["empty", "one empty entry"])
def test_owners_are_forgotten_on_request(owners: list[Object]) -> None:
    @with_api
    async def run(client: ApiClient) -> None:
        for name in ("put", "patched", "yaml"):
            made = await client.ok("POST", MAPS, config_map(name, key="value"))
            assert made["metadata"]["managedFields"]
        reset = config_map("put", key="value")
        reset["metadata"]["managedFields"] = owners
        put = await client.ok("PUT", f"{MAPS}/put", reset)
        _, patched = await client.patch(f"{MAPS}/patched", {"metadata": {"managedFields": owners}})
        text = f"metadata: {{name: yaml, managedFields: {owners}}}\ndata: {{key: value}}\n"
        body = f"apiVersion: v1\nkind: ConfigMap\n{text}".encode()
        yaml = await client.ok("PUT", f"{MAPS}/yaml", body, {"content-type": "application/yaml"})
        for obj in (put, patched, yaml):
            assert "managedFields" not in obj["metadata"]
            again = await client.ok("GET", f"{MAPS}/{obj['metadata']['name']}")
            assert "managedFields" not in again["metadata"]
        # A status has no say in it, and a create begins anew.
        created = config_map("new", managedFields="managedFields")
        created["metadata"]["managedFields"] = owners
        (entry,) = (await client.ok("POST", MAPS, created))["metadata"]["managedFields"]
        assert entry["manager"] == "test"

    run()


@with_api
async def test_owners_are_not_forgotten_through_a_subresource(client: ApiClient) -> None:
    await client.ok("POST", DEPLOYMENTS, deployment("d"))
    change = {"metadata": {"managedFields": []}, "status": {"observedGeneration": 1}}
    code, changed = await client.patch(f"{DEPLOYMENTS}/d/status", change)
    assert code == 200
    assert [entry.get("subresource", "") for entry in changed["metadata"]["managedFields"]] == ["", "status"]


@pytest.mark.parametrize(
    ("wish", "finalizers"),
    [("Foreground", ["foregroundDeletion"]), ("Orphan", ["orphan"]), ("Background", None)],
)
def test_a_namespace_remembers_what_shall_become_of_its_dependents(
    wish: str, finalizers: list[str] | None
) -> None:
    @with_api
    async def scenario(client: ApiClient) -> None:
        await client.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "a"}})
        marked = await client.ok("DELETE", f"/api/v1/namespaces/a?propagationPolicy={wish}")
        assert marked["metadata"].get("finalizers") == finalizers
        assert marked["status"]["phase"] == "Terminating"

    scenario()


@with_api
async def test_managers_are_named_after_the_first_word_of_the_user_agent(client: ApiClient) -> None:
    headers = {"user-agent": "ünï/1.0"}
    made = await client.ok("POST", DEPLOYMENTS, deployment("d"), headers)
    assert made["metadata"]["managedFields"][0]["manager"] == "ünï"


@with_api
async def test_defaults_of_the_stored_version_are_owned(client: ApiClient) -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    body = {"metadata": {"name": "h"}, "spec": {"maxReplicas": 2, "scaleTargetRef": target}}
    path = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
    [entry] = (await client.ok("POST", path, body))["metadata"]["managedFields"]
    owned = ("f:maxReplicas", "f:minReplicas", "f:scaleTargetRef", "f:targetCPUUtilizationPercentage")
    assert entry["fieldsV1"] == {"f:spec": {name: {} for name in owned}}


@with_api
async def test_owners_of_an_event_are_those_of_one_group(client: ApiClient) -> None:
    involved = {"kind": "Pod", "name": "p", "namespace": "default"}
    core = "/api/v1/namespaces/default/events"
    await client.ok("POST", core, {"metadata": {"name": "e"}, "involvedObject": involved, "type": "Normal"})
    for path in (core.replace("/api/v1", "/apis/events.k8s.io/v1"), core):
        _, changed = await client.patch(f"{path}/e", {"metadata": {"labels": {"from": path[:5].strip("/")}}})
        [owner] = changed["metadata"]["managedFields"]
        assert owner["apiVersion"] == changed["apiVersion"]


@with_api
async def test_an_empty_list_counts_as_a_change_of_a_network_policy(client: ApiClient) -> None:
    path = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies"
    policy = {"metadata": {"name": "deny"}, "spec": {"podSelector": {}, "ingress": []}}
    generations = [(await client.ok("POST", path, policy))["metadata"]["generation"]]
    for change in (policy, policy, {**policy, "spec": {"podSelector": {}}}):
        generations.append((await client.ok("PUT", f"{path}/deny", change))["metadata"]["generation"])
    assert generations == [1, 2, 3, 3]
