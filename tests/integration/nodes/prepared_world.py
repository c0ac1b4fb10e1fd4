"""A node that prepares everything for its pods as one that runs them does, over an engine that runs nothing.

    @with_prepared_node
    async def test_x(world: PreparedWorld) -> None: …

What containers were made of is in `world.engine.made`. Virtual time; the node is its own user.
"""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from steersman.aio import Scope
from steersman.client import Client
from steersman.client.credentials import FixedFields, bearer
from steersman.cluster.local import ClusterConfig, LocalCluster
from steersman.cluster.node import NodeAgent, NodeConfig, Nodes
from steersman.cluster.node.cri import ContainerConfig, ExecResult
from steersman.cluster.node.events import NodeEvents
from steersman.cluster.node.node_context import NodeContext
from steersman.cluster.node.nodes import WRITER
from steersman.cluster.node.pod_preparation import PodServices, PodSettings, pod_services
from steersman.cluster.node.simulated import SimulatedImages, SimulatedRuntime
from steersman.cluster.node.simulated.addresses import SimulatedPodAddresses
from steersman.objects.resources import EVENTS, NAMESPACES, PODS, SERVICES
from steersman.runtime import Manager, Recorder
from steersman.testing import Faults, VirtualClock, eventually, run_virtual
from steersman.testing.faulty import FaultyTransport

Object = dict[str, Any]

NAMESPACE = "shop"
NODE = "node-1"
PATIENCE_S = 60.0


class RecordingRuntime(SimulatedRuntime):
    """Keeps what containers were made of, and what was run in them; commands end as told."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.made: list[ContainerConfig] = []
        self.commands: list[tuple[str, ...]] = []
        #: A command's first word → how it ends; 0 if it is not here.
        self.codes: dict[str, int] = {}

    async def exec_sync(self, container_id: str, command: Sequence[str], timeout_s: float) -> ExecResult:
        self.commands.append(tuple(command))
        return ExecResult(self.codes.get(command[0], 0), b"said", b"")

    async def create_container(self, sandbox_id: str, config: ContainerConfig) -> str:
        self.made.append(config)
        return await super().create_container(sandbox_id, config)


class Names:
    """Lines for /etc/hosts, by namespace."""

    def __init__(self) -> None:
        self._lines: dict[str, list[str]] = {}
        self._told: list[Callable[[], None]] = []

    def hosts_lines(self, namespace: str) -> list[str]:
        return self._lines.get(namespace, [])

    def on_change(self, told: Callable[[], None]) -> None:
        self._told.append(told)

    def change(self, namespace: str, *lines: str) -> None:
        self._lines[namespace] = list(lines)
        for told in self._told:
            told()


class PreparedWorld:
    def __init__(self, cluster: LocalCluster, clock: VirtualClock, folder: Path) -> None:
        self.cluster = cluster
        self.clock = clock
        self.folder = folder
        self.client: Client = cluster.client(namespace=NAMESPACE)
        #: What goes wrong between the node and the API.
        self.faults = Faults()
        self.names = Names()
        self.start_agent()

    def start_agent(self) -> None:
        """What a process with this node has."""
        fields = (
            *bearer(self.cluster.token),
            (b"Impersonate-User", f"system:node:{NODE}".encode()),
            (b"Impersonate-Group", b"system:nodes"),
        )
        transport = FaultyTransport(self.cluster.transport("kubelet"), self.faults)
        client = Client(transport, credentials=FixedFields(fields), clock=self.clock)
        self.manager = Manager(client, clock=self.clock, address=None)
        nodes = Nodes(self.manager, only=NODE)
        self.engine = RecordingRuntime(nodes.timers, lambda: SimulatedPodAddresses("10.244.0.0/24"))
        config = NodeConfig(NODE, ("172.18.0.2",), {"cpu": "4", "memory": "8Gi", "pods": "110"})
        recorder = self.manager.add_recorder(Recorder(client, WRITER, NODE, clock=self.clock))
        events = NodeEvents(lambda: recorder)
        hosts, resolv_conf = self.folder / "hosts", self.folder / "resolv.conf"
        hosts.write_text("127.0.0.1 machine\n")
        resolv_conf.write_text("nameserver 192.0.2.1\nsearch example.com\n")
        self.services: PodServices = pod_services(
            client,
            nodes.timers,
            nodes.start,
            self.folder,
            config,
            runtime=self.engine,
            events=events,
            services=self.manager.informers.get(SERVICES),
            surroundings=PodSettings(("10.96.0.10",), names=self.names, hosts=hosts, resolv_conf=resolv_conf),
            image_folder=self._image,
        )
        host = NodeContext(
            config=config,
            timers=nodes.timers,
            runtime=self.engine,
            images=SimulatedImages(self.clock, {"pull-time": "0s"}),
            prober=self.services.prober,
            hooks=self.services.hooks,
            preparation=self.services.preparation,
            events=events,
            pods=nodes.pods.cache,
            nodes=nodes.nodes.cache,
            statuses=nodes.statuses,
            start=nodes.start,
            notice=self.engine.notice,
        )
        nodes.add(NodeAgent(host, nodes.writes))
        self.manager.add_service("nodes", nodes.run)

    def _image(self, reference: str) -> Path | None:
        found = self.folder / "images" / reference
        return found if found.is_dir() else None

    async def create(
        self, name: str, *volumes: Object, metadata: Object | None = None, **spec: Any
    ) -> Object:
        """Make a pod with volumes, each of which its container sees below /mnt."""
        mounts = [{"name": volume["name"], "mountPath": f"/mnt/{volume['name']}"} for volume in volumes]
        container = {"name": "main", "image": "app:1", "volumeMounts": mounts, **spec.pop("container", {})}
        pod = {
            "metadata": {"name": name, "namespace": NAMESPACE, **(metadata or {})},
            "spec": {"nodeName": NODE, "volumes": list(volumes), "containers": [container], **spec},
        }
        return await self.client.create(pod, kind=PODS)

    async def until(self, name: str, holds: Callable[[Object], Any]) -> Object:
        async def found() -> Object | None:
            pod = await self.client.find(PODS, name, NAMESPACE)
            return pod if pod is not None and holds(pod) else None

        return await eventually(found, PATIENCE_S, what=f"pod {name}")

    async def running(self, name: str) -> ContainerConfig:
        """What the container was made of, once it runs."""
        await self.until(name, lambda pod: pod["status"]["phase"] == "Running")
        return self.engine.made[-1]

    async def waiting(self, name: str, reason: str) -> str:
        """With which message the container waits for this reason."""

        def state(pod: Object) -> Object:
            statuses = pod["status"].get("containerStatuses") or [{"state": {}}]
            found: Object = statuses[0]["state"].get("waiting") or {}
            return found

        pod = await self.until(name, lambda pod: state(pod).get("reason") == reason)
        message: str = state(pod).get("message", "")
        return message

    async def told(self, name: str, reason: str) -> str:
        """What an event for this reason says about a pod."""

        async def found() -> str | None:
            for event in await self.client.list(EVENTS):
                if event["regarding"].get("name") == name and event["reason"] == reason:
                    note: str = event["note"]
                    return note
            return None

        return await eventually(found, PATIENCE_S, what=f"event {reason} of {name}")

    async def delete(self, name: str, grace_s: int = 0) -> None:
        await self.client.delete(PODS, name, NAMESPACE, grace_s=grace_s)

        async def gone() -> bool:
            return await self.client.find(PODS, name, NAMESPACE) is None

        await eventually(gone, PATIENCE_S)

    def folders(self) -> list[str]:
        """The pods that still have something on disk."""
        pods = self.folder / "pods"
        return sorted(one.name for one in pods.iterdir()) if pods.exists() else []


def with_prepared_node(
    test: Callable[[PreparedWorld], Awaitable[None]],
) -> Callable[[], None]:
    """Make a test of an async function that takes a world."""

    async def body(folder: Path) -> None:
        clock = VirtualClock()
        config = ClusterConfig(controllers=(), disabled_admission=("ServiceAccount",))
        async with LocalCluster(config, clock) as cluster:
            world = PreparedWorld(cluster, clock, folder)
            await world.client.create({"metadata": {"name": NAMESPACE}}, kind=NAMESPACES)
            await run_agent(world, test(world))

    def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            run_virtual(body(Path(folder)))

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


async def run_agent(world: PreparedWorld, work: Awaitable[None]) -> None:
    """Run the node, as it is now, while `work` is done."""
    manager = world.manager
    async with Scope() as scope:
        running = scope.start(manager.run())
        await work
        manager.stop()
        await running
