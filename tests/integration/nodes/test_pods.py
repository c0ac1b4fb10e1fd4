"""The lives of pods on simulated nodes: how they start, fail, restart and end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import orjson

from steersman.objects.conditions import find_condition
from steersman.objects.resources import PODS
from steersman.objects.times import parse_time
from steersman.testing import eventually

from .world import NAMESPACE, Object, World, is_ready, main_of, waits_for, with_nodes


@with_nodes()
async def test_a_pod_is_reported_once_as_running(world: World) -> None:
    await asyncio.sleep(1)
    world.requests.clear()
    await world.create(
        "a", containers=[{"name": "main", "image": "app:1", "resources": {"requests": {"cpu": "1"}}}]
    )
    pod = await world.running("a")
    status = pod["status"]
    assert world.nodes.statuses.written == 1
    assert status["observedGeneration"] == 1
    assert status["hostIP"] == (await world.node())["status"]["addresses"][0]["address"]
    assert status["hostIPs"] == [{"ip": status["hostIP"]}]
    assert status["podIPs"] == [{"ip": status["podIP"]}]
    assert status["qosClass"] == "Burstable"
    assert [(one["type"], one["status"], one["observedGeneration"]) for one in status["conditions"]] == [
        ("PodReadyToStartContainers", "True", 1),
        ("Initialized", "True", 1),
        ("Ready", "True", 1),
        ("ContainersReady", "True", 1),
        ("PodScheduled", "True", 1),
    ]
    main = main_of(pod)
    assert main["containerID"].startswith("simulated://")
    assert main["state"] == {"running": {"startedAt": status["startTime"]}}
    assert main["resources"] == {"requests": {"cpu": "1"}}
    assert main["allocatedResources"] == {"cpu": "1"}
    assert (main["ready"], main["started"], main["restartCount"]) == (True, True, 0)
    assert [event[1:] for event in await world.events("a")] == [
        ("Pulling", 'Pulling image "app:1"'),
        ("Pulled", (await world.events("a"))[1][2]),
        ("Created", "Container created"),
        ("Started", "Container started"),
    ]


@with_nodes()
async def test_a_slow_pull_is_seen_as_container_creating(world: World) -> None:
    await world.create("a", script={"pull-time": "3s"})
    pod = await world.until("a", waits_for("ContainerCreating"))
    assert pod["status"]["phase"] == "Pending"
    assert pod["status"]["podIP"]
    ready = find_condition(pod["status"]["conditions"], "Ready")
    assert ready is not None
    assert (ready["reason"], ready["message"]) == (
        "ContainersNotReady",
        "containers with unready status: [main]",
    )
    pod = await world.running("a")
    told = [note for _, reason, note in await world.events("a") if reason == "Pulled"]
    assert told[0].startswith('Successfully pulled image "example.com/app:1" in 3s (3s including waiting).')
    await world.create("b")
    await world.running("b")
    told = [note for _, reason, note in await world.events("b") if reason == "Pulled"]
    assert told == [
        'Container image "example.com/app:1" already present on machine and can be accessed by the pod'
    ]


@with_nodes()
async def test_an_image_that_cannot_be_pulled_backs_off(world: World) -> None:
    await world.create("a", script={"pull-error": "manifest unknown"})
    pod = await world.until("a", waits_for("ErrImagePull"))
    assert main_of(pod)["state"]["waiting"]["message"] == "manifest unknown"
    pod = await world.until("a", waits_for("ImagePullBackOff"))
    assert main_of(pod)["state"]["waiting"]["message"] == (
        'Back-off pulling image "example.com/app:1": ErrImagePull: manifest unknown'
    )
    assert pod["status"]["phase"] == "Pending"
    told = {(reason, note) for _, reason, note in await world.events("a")}
    assert ("Failed", 'Failed to pull image "example.com/app:1": manifest unknown') in told
    assert ("Failed", "Error: ErrImagePull") in told
    assert ("BackOff", 'Back-off pulling image "example.com/app:1"') in told
    await world.annotate(PODS, "a", pull_error=None)
    await world.running("a")


@with_nodes()
async def test_an_image_that_must_not_be_pulled(world: World) -> None:
    await world.create("a", containers=[{"name": "main", "image": "app:1", "imagePullPolicy": "Never"}])
    pod = await world.until("a", waits_for("ErrImageNeverPull"))
    message = 'Container image "app:1" is not present with pull policy of Never'
    assert main_of(pod)["state"]["waiting"]["message"] == message


@with_nodes()
async def test_a_crashing_container_waits_longer_each_time(world: World) -> None:
    created = await world.create("a", script={"run-time": "1s", "exit-code": "3", "message": "out of luck"})
    known = f"a_{NAMESPACE}({created['metadata']['uid']})"

    def backs_off_after(restarts: int) -> Callable[[Object], bool]:
        waits = waits_for("CrashLoopBackOff")
        return lambda pod: main_of(pod)["restartCount"] == restarts and waits(pod)

    for restarts, wait in enumerate(("10s", "20s", "40s", "1m20s", "2m40s", "5m0s", "5m0s"), 1):
        pod = await world.until("a", backs_off_after(restarts), 400)
        waiting = main_of(pod)["state"]["waiting"]
        assert waiting["message"] == f"back-off {wait} restarting failed container=main pod={known}"
        last = main_of(pod)["lastState"]["terminated"]
        assert (last["exitCode"], last["reason"], last["message"]) == (3, "Error", "out of luck")
        assert pod["status"]["phase"] == "Running"
    told = await world.events("a")
    assert ("Warning", "BackOff", f"Back-off restarting failed container main in pod {known}") in told


@with_nodes()
async def test_exit_codes_follow_each_other(world: World) -> None:
    await world.create("a", script={"run-time": "1s", "exit-code": "1,0"}, restartPolicy="OnFailure")
    pod = await world.until("a", lambda pod: pod["status"]["phase"] == "Succeeded")
    main = main_of(pod)
    assert main["restartCount"] == 1
    assert main["state"]["terminated"]["exitCode"] == 0
    assert main["state"]["terminated"]["reason"] == "Completed"
    assert main["lastState"]["terminated"]["exitCode"] == 1
    ready = find_condition(pod["status"]["conditions"], "Ready")
    assert ready is not None
    assert (ready["status"], ready["reason"]) == ("False", "PodCompleted")
    assert world.nodes.agents["node-1"].workers == {}
    assert world.nodes.agents["node-1"].host.load.pods == 0


@with_nodes()
async def test_a_container_that_is_killed_for_memory_fails_its_pod(world: World) -> None:
    script = {"run-time": "1s", "exit-code": "137", "exit-reason": "OOMKilled"}
    await world.create("a", script=script, restartPolicy="Never")
    pod = await world.until("a", lambda pod: pod["status"]["phase"] == "Failed")
    assert main_of(pod)["state"]["terminated"]["reason"] == "OOMKilled"


@with_nodes()
async def test_readiness_comes_when_the_script_says(world: World) -> None:
    await world.create("a", script={"ready-after": "5s"})
    pod = await world.running("a")
    assert not is_ready(pod)
    began = world.clock.monotonic()
    await world.until("a", is_ready)
    assert world.clock.monotonic() - began >= 4
    await world.annotate(PODS, "a", ready_after="never")
    await world.until("a", lambda pod: not is_ready(pod))


@with_nodes()
async def test_a_readiness_probe_waits_its_initial_delay(world: World) -> None:
    probe = {"httpGet": {"port": 80}, "initialDelaySeconds": 7}
    await world.create("a", containers=[{"name": "main", "image": "app:1", "readinessProbe": probe}])
    assert not is_ready(await world.running("a"))
    await world.until("a", is_ready)


@with_nodes()
async def test_an_unhealthy_container_is_restarted(world: World) -> None:
    await world.create("a", script={"unhealthy-after": "5s"})
    pod = await world.until("a", lambda pod: main_of(pod)["restartCount"] == 1)
    assert main_of(pod)["lastState"]["terminated"]["exitCode"] == 0
    told = [note for _, reason, note in await world.events("a") if reason == "Killing"]
    assert told == ["Container main failed liveness probe, will be restarted"]


@with_nodes()
async def test_init_containers_and_sidecars_come_in_order(world: World) -> None:
    image = {"image": "app:1"}
    await world.create(
        "a",
        script={f"{name}.simulated.steersman.dev/run-time": "3s" for name in ("first", "second")},
        initContainers=[
            {"name": "first", **image},
            {"name": "side", **image, "restartPolicy": "Always"},
            {"name": "second", **image},
        ],
    )
    pod = await world.until("a", lambda pod: pod["status"].get("initContainerStatuses"))
    assert [one["name"] for one in pod["status"]["initContainerStatuses"]] == ["first", "side", "second"]
    initialized = find_condition(pod["status"]["conditions"], "Initialized")
    assert initialized is not None
    assert (initialized["status"], initialized["reason"], initialized["message"]) == (
        "False",
        "ContainersNotInitialized",
        "containers with incomplete status: [first side second]",
    )
    assert main_of(pod)["state"] == {"waiting": {"reason": "PodInitializing"}}
    pod = await world.running("a")
    first, side, second = pod["status"]["initContainerStatuses"]
    assert first["state"]["terminated"]["finishedAt"] <= side["state"]["running"]["startedAt"]
    assert side["state"]["running"]["startedAt"] <= second["state"]["terminated"]["startedAt"]
    assert (first["ready"], side["ready"], second["ready"]) == (True, True, True)


@with_nodes()
async def test_an_init_container_that_fails_for_good_fails_the_pod(world: World) -> None:
    await world.create(
        "a",
        script={"setup.simulated.steersman.dev/exit-code": "1"},
        initContainers=[{"name": "setup", "image": "app:1"}],
        restartPolicy="Never",
    )
    pod = await world.until("a", lambda pod: pod["status"]["phase"] == "Failed")
    assert pod["status"]["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 1


@with_nodes()
async def test_sidecars_end_with_the_work(world: World) -> None:
    await world.create(
        "a",
        script={"main.simulated.steersman.dev/run-time": "5s"},
        initContainers=[{"name": "side", "image": "app:1", "restartPolicy": "Always"}],
        restartPolicy="Never",
    )
    pod = await world.until("a", lambda pod: pod["status"]["phase"] == "Succeeded")
    assert "terminated" in pod["status"]["initContainerStatuses"][0]["state"]


@with_nodes()
async def test_sidecars_are_stopped_after_the_others_in_reverse(world: World) -> None:
    sidecars = [{"name": name, "image": "app:1", "restartPolicy": "Always"} for name in ("one", "two")]
    containers = [{"name": name, "image": "app:1"} for name in ("main", "other")]
    await world.create(
        "a",
        script={"stop-time": "2s"},
        initContainers=sidecars,
        containers=containers,
        activeDeadlineSeconds=10,
    )
    pod = await world.until("a", lambda pod: pod["status"]["phase"] == "Failed")
    statuses = [*pod["status"]["initContainerStatuses"], *pod["status"]["containerStatuses"]]
    ended = {one["name"]: parse_time(one["state"]["terminated"]["finishedAt"]) for one in statuses}
    assert ended["main"] == ended["other"] < ended["two"] < ended["one"]


@with_nodes()
async def test_a_changed_image_restarts_the_container(world: World) -> None:
    await world.create("a")
    await world.running("a")
    patch = {"spec": {"containers": [{"name": "main", "image": "example.com/app:2"}]}}
    await world.client.patch(PODS, "a", patch, NAMESPACE, type="strategic")
    pod = await world.until("a", lambda pod: main_of(pod)["image"] == "example.com/app:2")
    assert main_of(pod)["restartCount"] == 1
    assert pod["status"]["observedGeneration"] == pod["metadata"]["generation"] == 2
    told = [note for _, reason, note in await world.events("a") if reason == "Killing"]
    assert told == ["Container main definition changed, will be restarted"]


@with_nodes()
async def test_an_ephemeral_container_is_started_once(world: World) -> None:
    await world.create("a", script={"debug.simulated.steersman.dev/run-time": "2s"})
    await world.running("a")
    debug = {"name": "debug", "image": "busybox:1", "targetContainerName": "main"}
    patch = {"spec": {"ephemeralContainers": [debug]}}
    await world.client.patch(PODS, "a", patch, NAMESPACE, type="strategic", subresource="ephemeralcontainers")

    def debugged(pod: Object) -> bool:
        statuses = pod["status"].get("ephemeralContainerStatuses") or [{"state": {}}]
        return "terminated" in statuses[0]["state"]

    pod = await world.until("a", debugged)
    assert pod["status"]["ephemeralContainerStatuses"][0]["restartCount"] == 0
    assert pod["status"]["phase"] == "Running"


@with_nodes()
async def test_a_deadline_ends_a_pod(world: World) -> None:
    await world.create("a", activeDeadlineSeconds=30)
    await world.running("a")
    pod = await world.until("a", lambda pod: pod["status"]["phase"] == "Failed")
    assert pod["status"]["reason"] == "DeadlineExceeded"
    assert pod["status"]["message"] == "Pod was active on the node longer than the specified deadline"
    assert "terminated" in main_of(pod)["state"]


# --- deletion


@with_nodes()
async def test_a_deleted_pod_is_stopped_reported_and_removed(world: World) -> None:
    await world.create("a")
    await world.running("a")
    last: Object = {}
    async with world.client.watch(PODS, NAMESPACE) as events:
        await world.client.delete(PODS, "a", NAMESPACE)
        async for event in events:
            if event.type == "DELETED":
                last = orjson.loads(event.object)
                break
    status = last["status"]
    assert status["phase"] == "Succeeded"
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 0
    told = [note for _, reason, note in await world.events("a") if reason == "Killing"]
    assert told == ["Stopping container main"]
    assert world.nodes.agents["node-1"].workers == {}


@with_nodes()
async def test_a_container_that_does_not_listen_is_killed_after_the_grace_period(world: World) -> None:
    await world.create("a", script={"stop-time": "never"})
    await world.running("a")
    began = world.clock.monotonic()
    await world.client.delete(PODS, "a", NAMESPACE, grace_s=20)
    await world.gone("a")
    assert 20 <= world.clock.monotonic() - began < 22


@with_nodes()
async def test_a_second_deletion_shortens_the_grace_period(world: World) -> None:
    await world.create("a", script={"stop-time": "never"})
    await world.running("a")
    began = world.clock.monotonic()
    await world.client.delete(PODS, "a", NAMESPACE, grace_s=3000)
    await asyncio.sleep(5)
    await world.client.delete(PODS, "a", NAMESPACE, grace_s=3)
    await world.gone("a")
    assert world.clock.monotonic() - began < 12


@with_nodes()
async def test_deletions_that_come_together_all_count(world: World) -> None:
    await world.create("a", script={"stop-time": "never"})
    await world.running("a")
    await asyncio.gather(*(world.client.delete(PODS, "a", NAMESPACE, grace_s=s) for s in (3000, 900, 20, 3)))
    await world.gone("a", 10)


@with_nodes()
async def test_a_resized_pod_holds_what_it_asks_for_now(world: World) -> None:
    def asks(cpu: str) -> Object:
        return {"name": "main", "image": "app:1", "resources": {"requests": {"cpu": cpu}}}

    await world.create("a", containers=[asks("6")])
    await world.running("a")
    patch = {"spec": {"containers": [asks("1")]}}
    await world.client.patch(PODS, "a", patch, NAMESPACE, type="strategic", subresource="resize")
    pod = await world.until("a", lambda pod: main_of(pod)["allocatedResources"] == {"cpu": "1"})
    assert main_of(pod)["restartCount"] == 0
    await world.create("b", containers=[asks("6")])
    await world.running("b")


@with_nodes()
async def test_a_container_is_restarted_to_be_resized_if_it_says_so(world: World) -> None:
    def asks(memory: str) -> Object:
        return {"name": "main", "image": "app:1", "resources": {"requests": {"memory": memory}}}

    policy = [{"resourceName": "memory", "restartPolicy": "RestartContainer"}]
    await world.create("a", containers=[{**asks("32Mi"), "resizePolicy": policy}])
    await world.running("a")
    patch = {"spec": {"containers": [asks("64Mi")]}}
    await world.client.patch(PODS, "a", patch, NAMESPACE, type="strategic", subresource="resize")
    pod = await world.until("a", lambda pod: main_of(pod)["restartCount"] == 1)
    assert main_of(pod)["resources"] == {"requests": {"memory": "64Mi"}}
    told = [note for _, reason, note in await world.events("a") if reason == "Killing"]
    assert told == ["Container main resize requires restart"]


@with_nodes()
async def test_a_pod_that_is_gone_from_the_api_is_stopped(world: World) -> None:
    await world.create("a", script={"stop-time": "never"})
    await world.running("a")
    await world.client.delete(PODS, "a", NAMESPACE, grace_s=0)
    await world.gone("a", 1)
    await world.create("a")
    await world.running("a")
    await asyncio.sleep(5)
    assert world.nodes.agents["node-1"].host.load.pods == 1


@with_nodes()
async def test_a_pod_is_deleted_while_its_image_is_pulled(world: World) -> None:
    await world.create("a", script={"pull-time": "1h"})
    await world.until("a", waits_for("ContainerCreating"))
    await world.client.delete(PODS, "a", NAMESPACE)
    await world.gone("a", 5)


@with_nodes()
async def test_a_pre_stop_hook_has_its_time(world: World) -> None:
    hook = {"preStop": {"sleep": {"seconds": 8}}}
    await world.create("a", containers=[{"name": "main", "image": "app:1", "lifecycle": hook}])
    await world.running("a")
    began = world.clock.monotonic()
    await world.client.delete(PODS, "a", NAMESPACE)
    await world.gone("a")
    assert 8 <= world.clock.monotonic() - began < 12


@with_nodes()
async def test_a_pod_with_a_finalizer_stays_without_its_containers(world: World) -> None:
    await world.create("a")
    await world.running("a")
    await world.client.patch(PODS, "a", {"metadata": {"finalizers": ["example.com/hold"]}}, NAMESPACE)
    await world.client.delete(PODS, "a", NAMESPACE)
    await world.until("a", lambda pod: pod["status"]["phase"] == "Succeeded")
    await world.client.patch(PODS, "a", {"metadata": {"finalizers": None}}, NAMESPACE)
    await world.gone("a")


# --- others


@with_nodes()
async def test_a_status_that_others_spoiled_is_put_right(world: World) -> None:
    await world.create("a")
    await world.until("a", is_ready)
    condition = {"type": "Ready", "status": "False"}
    await world.client.patch(
        PODS, "a", {"status": {"conditions": [condition]}}, NAMESPACE, type="strategic", subresource="status"
    )
    assert not is_ready(await world.pod("a"))
    await world.until("a", is_ready)


@with_nodes()
async def test_a_pod_that_others_declare_failed_is_stopped(world: World) -> None:
    await world.create("a")
    await world.running("a")
    status = {"status": {"phase": "Failed", "reason": "Lost"}}
    await world.client.patch(PODS, "a", status, NAMESPACE, subresource="status")
    pod = await world.until("a", lambda pod: "terminated" in main_of(pod)["state"])
    assert (pod["status"]["phase"], pod["status"]["reason"]) == ("Failed", "Lost")
    assert not is_ready(pod)
    await eventually(lambda: not world.nodes.agents["node-1"].workers)


@with_nodes()
async def test_readiness_gates_count_at_once(world: World) -> None:
    await world.create("a", readinessGates=[{"conditionType": "example.com/warm"}])
    pod = await world.running("a")
    ready = find_condition(pod["status"]["conditions"], "Ready")
    assert ready is not None
    assert ready["reason"] == "ReadinessGatesNotReady"
    assert ready["message"] == (
        'corresponding condition of pod readiness gate "example.com/warm" does not exist.'
    )
    condition = {"type": "example.com/warm", "status": "True"}
    await world.client.patch(
        PODS, "a", {"status": {"conditions": [condition]}}, NAMESPACE, type="strategic", subresource="status"
    )
    pod = await world.until("a", is_ready, 1)
    assert find_condition(pod["status"]["conditions"], "example.com/warm") is not None


@with_nodes()
async def test_a_running_pod_costs_nothing(world: World) -> None:
    await world.create("a")
    await world.running("a")
    await asyncio.sleep(15)
    world.requests.clear()
    await asyncio.sleep(100)
    assert world.requests == {"PUT": 10}, "only the lease is renewed"


@with_nodes()
async def test_pods_of_other_nodes_are_left_alone(world: World) -> None:
    await world.create("a", node="elsewhere")
    await asyncio.sleep(5)
    assert (await world.pod("a"))["status"]["phase"] == "Pending"
