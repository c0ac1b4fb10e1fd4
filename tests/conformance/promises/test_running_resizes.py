"""Promises about containers that get other resources while they run."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from steersman.objects.amounts import parsed
from steersman.objects.resources import PODS

from .running import NAMESPACE, STATE, STATE_MOUNT, Object, Running, promise, promised, script

_MIB = 1 << 20


def resources(cpu: str = "", memory: str = "", cpu_limit: str = "", memory_limit: str = "") -> Object:
    sides = {
        "requests": {"cpu": cpu, "memory": memory},
        "limits": {"cpu": cpu_limit, "memory": memory_limit},
    }
    given = {side: {name: amount for name, amount in of.items() if amount} for side, of in sides.items()}
    return {side: of for side, of in given.items() if of}


def guaranteed(number: int, cpu: int, memory: int) -> Object:
    """Each container has other amounts, so that they cannot be taken for each other."""
    amounts = (f"{cpu + 2 * number}m", f"{memory + 2 * number}Mi")
    return resources(*amounts, *amounts)


class Promise(NamedTuple):
    name: str
    before: list[Object]
    after: list[Object]
    #: Limits and requests that were added cannot be taken away.
    and_back: bool = True


TITLE = "Pod InPlace Resize Container"
_CPU, _MEMORY = (20, 30, 15), (30, 40, 24)
_SAME, _MORE, _LESS = range(3)


def three(name: str, *changes: tuple[int, int]) -> Promise:
    """`changes` are those of CPU and memory."""
    return Promise(
        promised(f"{TITLE} guaranteed pods with multiple containers 3 containers - {name}"),
        [guaranteed(number, _CPU[_SAME], _MEMORY[_SAME]) for number in range(3)],
        [guaranteed(number, _CPU[cpu], _MEMORY[memory]) for number, (cpu, memory) in enumerate(changes)],
    )


PROMISES = [
    three(
        "increase cpu & mem on c1, c2, decrease cpu & mem on c3 - net increase",
        (_MORE, _MORE),
        (_MORE, _MORE),
        (_LESS, _LESS),
    ),
    three(
        "increase cpu & mem on c1, decrease cpu & mem on c2, c3 - net decrease",
        (_MORE, _MORE),
        (_LESS, _LESS),
        (_LESS, _LESS),
    ),
    three(
        "increase: CPU (c1,c3), memory (c2, c3) ; decrease: CPU (c2)",
        (_MORE, _SAME),
        (_LESS, _MORE),
        (_MORE, _MORE),
    ),
    Promise(
        promised(
            f"{TITLE} burstable pods - extended 6 containers - various operations performed (including adding "
            "limits and requests)"
        ),
        [
            resources("20m"),
            resources("", "30Mi"),
            resources("20m", "30Mi"),
            resources("20m"),
            resources("", "30Mi"),
            resources("20m", "30Mi", "40m", "60Mi"),
        ],
        [
            resources("30m", "", "60m"),
            resources("", "24Mi", "", "80Mi"),
            resources("20m", "24Mi"),
            resources("15m", "30Mi"),
            resources("20m", "40Mi"),
            resources("20m", "30Mi", "50m", "70Mi"),
        ],
        and_back=False,
    ),
    Promise(
        promised(f"{TITLE} burstable pods - extended resize with equivalents"),
        [resources("2m", "", "10m")],
        [resources("1m", "", "5m")],
    ),
]


def containers(given: list[Object]) -> list[Object]:
    """They remember who they are, so that others can look at them."""
    return [
        script(
            f"echo $$$$ > /state/c{number}; exec sleep 600",
            f"c{number}",
            resources=one,
            volumeMounts=[STATE_MOUNT],
        )
        for number, one in enumerate(given, 1)
    ]


async def check(running: Running, name: str, expected: list[Object]) -> Object:
    """That it has what it should, that its status says so, and that it was never started again."""

    def resized(pod: Object) -> bool:
        statuses = pod["status"].get("containerStatuses") or ()
        same_generation = pod["status"].get("observedGeneration") == pod["metadata"]["generation"]
        return same_generation and [one.get("resources", {}) for one in statuses] == expected

    pod = await running.until(PODS, name, resized)
    assert [one["resources"] for one in pod["spec"]["containers"]] == expected
    for status, given in zip(pod["status"]["containerStatuses"], expected, strict=True):
        assert status["restartCount"] == 0
        assert status.get("allocatedResources", {}) == given.get("requests", {})
        await check_limit(running, name, status["name"], given)
    pending = {"PodResizePending", "PodResizeInProgress"}
    assert not pending.intersection(one["type"] for one in pod["status"]["conditions"])
    return pod


async def check_limit(running: Running, pod: str, container: str, given: Object) -> None:
    """What the kernel says, if this machine limits memory by process."""
    if "memory" in await groups(running):
        return
    command = "awk '/Max data size/ {print $4}' /proc/$(cat /state/" + container + ")/limits"
    done = await running.client.run(pod, ["sh", "-c", command], container=container)
    limits = parsed(given.get("limits"))
    expected = str(limits["memory"].value) if "memory" in limits else "unlimited"
    assert done.stdout.decode().strip() == expected, done


async def groups(running: Running) -> str:
    """The controllers of control groups that nodes can use here."""
    command = "cat /sys/fs/cgroup/cgroup.controllers 2> /dev/null || true"
    if await running.client.find(PODS, "looks-at-groups") is None:
        await running.pod("looks-at-groups", script("exec sleep 600"))
        await running.phase("looks-at-groups", "Running")
    return (await running.client.run("looks-at-groups", ["sh", "-c", command])).stdout.decode()


def change(given: list[Object]) -> Object:
    return {
        "spec": {
            "containers": [{"name": f"c{number}", "resources": one} for number, one in enumerate(given, 1)]
        }
    }


@pytest.mark.parametrize("one", PROMISES, ids=[one.name for one in PROMISES])
def test_containers_are_resized(running: Running, one: Promise) -> None:
    name = f"resized-{PROMISES.index(one)}"

    async def resize() -> None:
        await running.pod(name, *containers(one.before), volumes=[STATE])
        await running.phase(name, "Running")
        await check(running, name, one.before)
        await running.change(PODS, name, change(one.after), "resize")
        await check(running, name, one.after)
        if one.and_back:
            await running.change(PODS, name, change(one.before), "resize")
            await check(running, name, one.before)

    running.run(resize())


@promise(f"{TITLE} resize pod via the replace endpoint")
async def test_resized_by_replacing(running: Running) -> None:
    before, after = resources("20m", "30Mi"), resources("30m", "40Mi")
    await running.pod("replaced", *containers([before]), volumes=[STATE])
    await running.phase("replaced", "Running")
    pod = await check(running, "replaced", [before])
    assert pod["metadata"]["generation"] == 1
    pod["spec"]["containers"][0]["resources"] = after
    updated = await running.client.replace(pod, kind=PODS, subresource="resize", namespace=NAMESPACE)
    assert updated["metadata"]["generation"] == 2
    await check(running, "replaced", [after])
    read = await running.client.get(PODS, "replaced", subresource="resize")
    assert read == await running.client.get(PODS, "replaced")
