"""Objects that together use every method of every builder, all of them what the API server accepts."""

from __future__ import annotations

from collections.abc import Callable

from steersman.objects.builders import (
    Affinity,
    Annotations,
    ClusterRole,
    ClusterRoleBinding,
    ConfigMap,
    Container,
    CronJob,
    DaemonSet,
    Deployment,
    Hook,
    HorizontalPodAutoscaler,
    Ingress,
    IngressRule,
    Job,
    Labels,
    Namespace,
    NetworkPolicy,
    NetworkPolicyEgress,
    NetworkPolicyIngress,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
    PodSecurityContext,
    PolicyRule,
    PriorityClass,
    Probe,
    Resource,
    Resources,
    Role,
    RoleBinding,
    Secret,
    SecurityContext,
    Selector,
    Service,
    ServiceAccount,
    StatefulSet,
    Volume,
)

__all__ = ["FULL_EXAMPLES"]

ZONE = "topology.kubernetes.io/zone"


def plain() -> Container:
    return Container("app").image("nginx:1.27")


def pod_with_everything_in_its_containers() -> Resource:
    container = (
        Container("app")
        .image("nginx:1.27")
        .image_pull_policy("IfNotPresent")
        .command("nginx", "-g")
        .args(["daemon off;"])
        .working_dir("/srv")
        .port(80, "http")
        .port(53, "dns", protocol="UDP", host_port=5353, host_ip="127.0.0.1")
        .envs({"A": "1", "B": 2})
        .env_from_secret("PASSWORD", "login", "password", optional=True)
        .env_from_configmap("LEVEL", "settings", "level", optional=True)
        .env_from_field("POD_NAME", "metadata.name")
        .env_from_resource("CPUS", "limits.cpu", container="app", divisor="1m")
        .all_env_from_secret("login", prefix="LOGIN_", optional=True)
        .all_env_from_configmap("settings", optional=True)
        .resources(
            Resources()
            .cpu_request(0.1)
            .cpu_limit(1)
            .memory_request("64Mi")
            .memory_limit("128Mi")
            .ephemeral_storage_request("1Gi")
            .ephemeral_storage_limit("2Gi")
            .request("example.com/token", 1)
            .limit("example.com/token", 1)
            .claim("gpu", "one")
        )
        .liveness_probe(Probe.exec("true").timeout(2).termination_grace_period(5))
        .readiness_probe(Probe.tcp("http").success_threshold(2).failure_threshold(3))
        .startup_probe(Probe.grpc(9000, "health").initial_delay(1).period(2))
        .post_start(Hook.exec(["sh", "-c", "true"]))
        .pre_stop(Hook.sleep(5))
        .volume_mount("work", "/work", sub_path="a")
        .volume_mount("settings", "/etc/settings", read_only=True)
        .volume_mount("host", "/host", propagation="HostToContainer")
        .volume_mount("logs", "/logs", sub_path_expr="$(POD_NAME)")
        .volume_device("disk", "/dev/disk")
        .security_context(
            SecurityContext()
            .privileged(False)
            .add_capabilities("NET_BIND_SERVICE")
            .run_as_user(1000)
            .run_as_group(1000)
            .app_armor_profile("RuntimeDefault")
            .se_linux(level="s0:c1,c2")
        )
        .stdin()
        .tty()
    )
    return (
        Pod("full")
        .labels(Labels(app="full"))
        .annotations(Annotations().insert("Example.com/Note", "any text: at all"))
        .active_deadline(600)
        .restart_policy("OnFailure")
        .init_container(Container("first").image("busybox"))
        .sidecar(Container("logs").image("fluent-bit").security_context(SecurityContext.restricted()))
        .container(container)
        .volume(Volume.empty_dir("work", medium="Memory", size_limit="64Mi"))
        .volume(Volume.config_map("settings", "settings", items={"a": "b/a"}, mode=0o440, optional=True))
        .volume(Volume.secret("login", "login", items={"password": "p"}, mode=0o400, optional=True))
        .volume(Volume.host_path("host", "/var/lib", "Directory"))
        .volume(Volume.empty_dir("logs"))
        .volume(Volume.pvc("disk", "block", read_only=True))
        .volume(Volume.nfs("share", "nfs.example.com", "/exports", read_only=True))
        .volume(Volume.image("model", "example.com/model:1", pull_policy="Always"))
        .volume(
            Volume.csi(
                "inline",
                "csi.example.com",
                attributes={"size": "1"},
                fs_type="ext4",
                read_only=True,
                secret="csi",
            )
        )
        .volume(
            Volume.ephemeral(
                "scratch", PersistentVolumeClaim("scratch").labels(kind="scratch").storage("1Gi")
            )
        )
        .volume(
            Volume.downward_api("facts", {"labels": "metadata.labels", "cpus": "app:limits.cpu"}, mode=0o444)
        )
        .volume(
            Volume.projected("all", mode=0o440)
            .config_map_files("settings", items={"a": "a"})
            .secret_files("login", optional=True)
            .downward_api_files({"name": "metadata.name"})
            .service_account_token("token", audience="vault", expiration=3600)
        )
        .raw("spec.resourceClaims", [{"name": "gpu", "resourceClaimName": "gpu"}])
    )


def deployment_with_everything_about_its_pods() -> Resource:
    return (
        Deployment("placed", "default")
        .container(plain())
        .replicas(2)
        .selector(app="placed")
        .pod_label("tier", "web")
        .pod_labels({"example.com/kind": "front"})
        .pod_annotation("example.com/hash", "abc")
        .pod_annotations({"example.com/Note": "x"})
        .label("team", "shop")
        .annotation("example.com/note", "y")
        .finalizer("example.com/cleanup")
        .owner({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "parent", "uid": "u-1"}})
        .service_account("default")
        .automount_service_account_token(False)
        .image_pull_secret("registry")
        .security_context(
            PodSecurityContext.restricted()
            .run_as_user(1000)
            .fs_group(2000, "OnRootMismatch")
            .supplemental_groups(3000, 4000)
            .sysctl("vm.overcommit_memory", "1")
            .seccomp_profile("Localhost", "profiles/a.json")
        )
        .node_selector({"kubernetes.io/os": "linux"}, disk="ssd")
        .affinity(
            Affinity()
            .require_nodes(Selector().is_in("disk", ["ssd", "nvme"]).exists("fast"))
            .prefer_nodes({"zone": "a"}, weight=10)
            .require_pods(Selector(app="cache"), ZONE, namespaces=["default"])
            .prefer_pods({"app": "db"})
            .forbid_pods()
            .avoid_pods(topology_key=ZONE, weight=50)
        )
        .toleration("dedicated", "web", effect="NoSchedule")
        .toleration("node.kubernetes.io/not-ready", effect="NoExecute", seconds=60)
        .toleration()
        .topology_spread(ZONE)
        .topology_spread(ZONE + "s", max_skew=2, min_domains=2, selector={"tier": "web"})
        .topology_spread("rack", when_unsatisfiable="ScheduleAnyway")
        .priority_class("system-cluster-critical")
        .runtime_class("gvisor")
        .scheduler_name("default-scheduler")
        .hostname("web", "shop")
        .host_network()
        .host_pid()
        .host_ipc(False)
        .host_alias("10.0.0.1", "a.example.com", "b.example.com")
        .dns_policy("None")
        .dns_config(nameservers=["1.1.1.1"], searches=["example.com"], options={"ndots": "2", "edns0": None})
        .enable_service_links(False)
        .termination_grace_period(20)
        .share_process_namespace(False)
        .readiness_gate("example.com/ready")
        .rolling_update(max_surge="25%", max_unavailable=0)
        .min_ready(5)
        .revision_history_limit(3)
        .progress_deadline(120)
        .paused()
    )


def recreated_deployment() -> Resource:
    selector = Selector({"app": "again"}).is_in("tier", "web", "api").not_in("tier", ["db"])
    return (
        Deployment("again")
        .selector(selector.does_not_exist("old"))
        .pod_labels(tier="web")
        .recreate()
        .container(plain())
    )


def pod_on_a_node() -> Resource:
    return (
        Pod("here")
        .node_name("node-1")
        .container(
            plain().liveness_probe(
                Probe.http("/", 80, scheme="HTTPS", host="localhost", headers={"X-Probe": "1"})
            )
        )
    )


def stateful_set() -> Resource:
    claim = PersistentVolumeClaim("data").storage("1Gi").storage_class("fast").volume_mode("Filesystem")
    return (
        StatefulSet("db")
        .replicas(3)
        .service_name("db")
        .container(plain().volume_mount("data", "/data"))
        .volume_claim_template(claim)
        .claim_retention(when_deleted="Delete")
        .pod_management("Parallel")
        .first_ordinal(1)
        .rolling_update(partition=1)
    )


def stateful_set_by_hand() -> Resource:
    return StatefulSet("slow").container(plain()).on_delete()


def daemon_set() -> Resource:
    return DaemonSet("agent").container(plain()).rolling_update(max_unavailable="10%")


def surging_daemon_set() -> Resource:
    return DaemonSet("surging").container(plain()).rolling_update(max_surge=1)


def daemon_set_by_hand() -> Resource:
    return DaemonSet("manual").container(plain()).on_delete()


def job() -> Resource:
    return (
        Job("work")
        .container(plain())
        .indexed(5)
        .parallelism(2)
        .active_deadline(60)
        .ttl_after_finished(100)
        .suspend()
        .restart_policy("OnFailure")
    )


def cron_job() -> Resource:
    return (
        CronJob("nightly")
        .schedule("*/5 3 * * mon-fri", "Europe/Berlin")
        .concurrency("Forbid")
        .starting_deadline(60)
        .history(successful=1, failed=2)
        .suspend()
        .backoff_limit(2)
        .pod_labels(app="nightly")
        .topology_spread("rack")
        .container(plain())
    )


def load_balancer() -> Resource:
    return (
        Service("edge")
        .port(80, "http", app_protocol="http")
        .port(53, 53, protocol="UDP")
        .node_port(443, 8443, 30443)
        .selector({"app.kubernetes.io/name": "edge"}, tier="web")
        .load_balancer("example.com/internal")
        .session_affinity(600)
        .external_traffic_policy("Local")
        .internal_traffic_policy("Cluster")
        .load_balancer_source_ranges("10.0.0.0/8")
        .ip_families("IPv4", policy="SingleStack")
    )


def node_port() -> Resource:
    return Service("node").node_port(80, 8080, 30081)


def headless() -> Resource:
    return Service("db").headless().publish_not_ready_addresses().selector(app="db")


def external_name() -> Resource:
    return Service("outside").external_name("db.example.com")


def cluster_ip() -> Resource:
    return Service("inside").named_port("http", 80, "web").cluster_ip()


def ingress() -> Resource:
    rule = IngressRule("*.example.com").path("/", "web", "http", "Exact")
    return Ingress("web").rule(rule).default_backend("web", 80).tls("*.example.com")


def network_policy() -> Resource:
    return (
        NetworkPolicy("db")
        .pod_selector(app="db")
        .allow_ingress(
            NetworkPolicyIngress()
            .from_pod_selector(Selector().exists("tier"))
            .from_pods_in({"team": "shop"}, {"app": "web"})
            .from_ip_block("10.0.0.0/8", excluded=["10.1.0.0/16"])
            .tcp_port("postgres")
            .udp_port(53)
            .sctp_port(1000, 2000)
        )
        .allow_egress(
            NetworkPolicyEgress()
            .to_pod_selector({"app": "web"})
            .to_namespace_selector({"team": "shop"})
            .to_pods_in({"team": "shop"}, {"app": "web"})
            .to_ip_block("10.0.0.0/8")
            .port(443)
        )
    )


def closed_namespace() -> Resource:
    return NetworkPolicy("closed").deny_all_ingress().deny_all_egress()


def config_map() -> Resource:
    return ConfigMap("files").data({"a": "b"}).binary_data("c", b"\x00\xff").immutable()


def secret() -> Resource:
    return Secret("bytes").data({"a": b"\x00"}).type("example.com/any").immutable()


def basic_auth() -> Resource:
    return Secret.basic_auth("login", "me", "secret")


def docker_registry() -> Resource:
    return Secret.docker_registry("registry", "registry.example.com", "me", "secret")


def tls() -> Resource:
    return Secret.tls("tls", b"", "")


def claim() -> Resource:
    return (
        PersistentVolumeClaim("data")
        .storage("1Gi")
        .access_modes("ReadWriteOnce", "ReadOnlyMany")
        .storage_class("")
        .volume_name("pv-1")
        .selector(kind="fast")
        .clone_of("other")
    )


def claim_from_snapshot() -> Resource:
    return PersistentVolumeClaim("restored").storage(1024).from_snapshot("backup")


def service_account() -> Resource:
    return ServiceAccount("robot").automount_token(False).image_pull_secret("registry")


def role() -> Resource:
    rule = PolicyRule().api_groups("apps").resources("deployments").verbs("get").resource_names("web")
    return Role("reader").rule(rule)


def cluster_role() -> Resource:
    return ClusterRole("prober").rule(PolicyRule().non_resource_urls("/healthz").verbs("get"))


def aggregated_cluster_role() -> Resource:
    return ClusterRole("all").aggregate({"rbac.example.com/aggregate": "true"})


def role_binding() -> Resource:
    return (
        RoleBinding("readers", "default").cluster_role("view").service_account("robot").user("me").group("us")
    )


def cluster_role_binding() -> Resource:
    return ClusterRoleBinding("everyone").cluster_role("view").group("system:authenticated")


def autoscaler() -> Resource:
    return (
        HorizontalPodAutoscaler("web")
        .target_of(Deployment("web"))
        .replicas(2, 10)
        .cpu(80)
        .memory(70)
        .resource("memory", average_value="1Gi", container="app")
        .pods_metric("requests", 100, selector={"verb": "GET"})
        .object_metric("hits", "Ingress", "web", "networking.k8s.io/v1", value=1000)
        .external_metric("queue", average_value="30", selector=Selector(queue="mail"))
        .scale_up(pods=4, percent=100, period=15, select="Max")
        .scale_down(stabilization=300)
    )


def disruption_budget() -> Resource:
    return (
        PodDisruptionBudget("web").selector(app="web").min_available("50%").unhealthy_eviction("AlwaysAllow")
    )


def other_disruption_budget() -> Resource:
    return PodDisruptionBudget("db").selector(app="db").max_unavailable(1)


def priority_class() -> Resource:
    return PriorityClass("high", 1000).description("goes first").global_default(False).preemption("Never")


def namespace() -> Resource:
    return Namespace("shop").pod_security("restricted")


def generated_name() -> Resource:
    return Pod("once").generate_name("once-").container(plain().port(80).pre_stop(Hook.http("/stop", 80)))


def zero_values() -> Resource:
    """What says "nothing" is not there, as in what the API answers."""
    container = plain().command().args().stdin(False).tty(False).env("EMPTY", "")
    probe = Probe.tcp(80).initial_delay(0)
    return (
        Deployment("zero")
        .labels()
        .annotations()
        .pod_labels()
        .pod_annotations()
        .node_selector()
        .replicas(0)
        .min_ready(0)
        .revision_history_limit(0)
        .paused(False)
        .host_network(False)
        .toleration("taint", "")
        .security_context(PodSecurityContext().supplemental_groups())
        .container(container.readiness_probe(probe))
    )


def zero_values_of_a_service() -> Resource:
    service = Service("zero").port(80).selector().publish_not_ready_addresses(False)
    return service.load_balancer_source_ranges()


FULL_EXAMPLES: tuple[Callable[[], Resource], ...] = (
    pod_with_everything_in_its_containers,
    deployment_with_everything_about_its_pods,
    recreated_deployment,
    pod_on_a_node,
    stateful_set,
    stateful_set_by_hand,
    daemon_set,
    surging_daemon_set,
    daemon_set_by_hand,
    job,
    cron_job,
    load_balancer,
    node_port,
    headless,
    external_name,
    cluster_ip,
    ingress,
    network_policy,
    closed_namespace,
    config_map,
    secret,
    basic_auth,
    docker_registry,
    tls,
    claim,
    claim_from_snapshot,
    service_account,
    role,
    cluster_role,
    aggregated_cluster_role,
    role_binding,
    cluster_role_binding,
    autoscaler,
    disruption_budget,
    other_disruption_budget,
    priority_class,
    namespace,
    generated_name,
    zero_values,
    zero_values_of_a_service,
)
