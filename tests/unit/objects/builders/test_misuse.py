"""What cannot work fails at once, with a sentence that names the kind, its name and the field."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from steersman.objects.builders import (
    Affinity,
    Annotations,
    BuildError,
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
    NetworkPolicy,
    NetworkPolicyEgress,
    NetworkPolicyIngress,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
    PolicyRule,
    PriorityClass,
    Probe,
    Resources,
    Role,
    RoleBinding,
    Secret,
    SecurityContext,
    Selector,
    Service,
    StatefulSet,
    Volume,
)

#: What a caller without a type checker might give.
WRONG: Any = "wrong"
NOTHING: Any = None


def plain(name: str = "app") -> Container:
    return Container(name).image("nginx:1.27")


def deployment() -> Deployment:
    return Deployment("web").container(plain())


OWNER = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "x", "uid": "u"}}

#: Fails when the method is called.
AT_THE_CALL: dict[str, tuple[Callable[[], Any], str]] = {
    "bad_name": (
        lambda: Deployment("Web_1"),
        "Deployment \"Web_1\": metadata.name: 'Web_1': a lowercase RFC 1123 subdomain",
    ),
    "empty_name": (lambda: ConfigMap(""), "ConfigMap: metadata.name: must not be empty"),
    "name_that_is_no_string": (lambda: ConfigMap(NOTHING), "metadata.name: must be a string, not None"),
    "bad_namespace": (
        lambda: Deployment("web", "a.b"),
        "Deployment \"web\": metadata.namespace: 'a.b': must not contain dots",
    ),
    "long_cron_job_name": (lambda: CronJob("a" * 53), "must be no more than 52 characters"),
    "service_name_with_dot": (lambda: Service("a.b"), "must not contain dots"),
    "bad_generate_name": (lambda: Pod("a").generate_name("AB-"), "metadata.generateName: 'AB-'"),
    "bad_label_key": (lambda: Deployment("web").label("a b", "c"), "metadata.labels: 'a b': name part must"),
    "bad_label_value": (
        lambda: Deployment("web").label("a", "b c"),
        "metadata.labels: a: 'b c': a valid label",
    ),
    "label_that_is_no_string": (
        lambda: Deployment("web").labels({"a": NOTHING}),
        "metadata.labels: a: must be a string, not None",
    ),
    "bad_annotation": (lambda: Deployment("web").annotation("a/b/c", "d"), "metadata.annotations: 'a/b/c'"),
    "bad_finalizer": (lambda: Deployment("web").finalizer("a/b/c"), "metadata.finalizers: 'a/b/c'"),
    "bad_labels_object": (lambda: Labels().insert("a", "-"), "Labels: a: a: '-': a valid label"),
    "bad_annotations_object": (lambda: Annotations().insert("a b", "-"), "Annotations: a b: 'a b'"),
    "bad_selector": (lambda: Selector().insert("a", "b c"), "Selector: matchLabels: a: 'b c'"),
    "selector_of_no_values": (lambda: Selector().is_in("a"), "matchExpressions: a: In needs at least one"),
    "owner_without_uid": (
        lambda: Deployment("web").owner({"metadata": {"name": "a"}}),
        "metadata.ownerReferences: the owner has no uid",
    ),
    "owner_in_another_namespace": (
        lambda: Deployment("web", "y").owner(OWNER),
        "the owner is in namespace x, this object in y",
    ),
    "owner_of_cluster_object": (lambda: ClusterRole("web").owner(OWNER), "an object without namespace"),
    "second_controller": (
        lambda: Deployment("web", "x").owner(OWNER).owner({**OWNER, "metadata": {"name": "q", "uid": "v"}}),
        "there is already an owner with controller set",
    ),
    "other_kind": (lambda: Deployment.from_object({"kind": "Service"}), "the object given is a Service"),
    "negative_replicas": (
        lambda: Deployment("web").replicas(-1),
        "spec.replicas: must be at least 0, not -1",
    ),
    "replicas_as_text": (
        lambda: Deployment("web").replicas(WRONG),
        "spec.replicas: must be a whole number, not 'wrong'",
    ),
    "replicas_as_flag": (lambda: Deployment("web").replicas(True), "must be a whole number, not True"),
    "flag_as_text": (lambda: Deployment("web").paused(WRONG), "spec.paused: must be True or False"),
    "no_movement": (
        lambda: Deployment("web").rolling_update(max_surge=0, max_unavailable="0%"),
        "spec.strategy.rollingUpdate: max_surge and max_unavailable are both 0",
    ),
    "daemons_that_surge_and_stop": (
        lambda: DaemonSet("web").rolling_update(max_surge=1, max_unavailable=1),
        "spec.updateStrategy.rollingUpdate: max_surge and max_unavailable do not go together",
    ),
    "bad_percentage": (
        lambda: Deployment("web").rolling_update(max_surge="a lot"),
        "spec.strategy.rollingUpdate.maxSurge: 'a lot': a valid percent string",
    ),
    "two_containers_of_one_name": (
        lambda: deployment().container(plain()),
        "Deployment \"web\": spec.template.spec.containers: two are called 'app'",
    ),
    "container_that_is_none": (lambda: Pod("web").container(WRONG), "must be a Container, not 'wrong'"),
    "two_volumes_of_one_name": (
        lambda: Pod("web").volume(Volume("a")).volume(Volume("a")),
        "spec.volumes: two are called 'a'",
    ),
    "volume_that_is_none": (lambda: Pod("web").volume(WRONG), "must be a Volume, not 'wrong'"),
    "restart_policy_of_another_kind": (
        lambda: Job("web").restart_policy("Always"),
        "spec.template.spec.restartPolicy: must be one of Never, OnFailure, not 'Always'",
    ),
    "pod_context_that_is_none": (lambda: Pod("web").security_context(WRONG), "must be a PodSecurityContext"),
    "affinity_that_is_none": (lambda: Pod("web").affinity(WRONG), "must be an Affinity, not 'wrong'"),
    "toleration_of_a_value": (lambda: Pod("web").toleration(value="a"), "a value needs a key"),
    "toleration_for_a_while": (
        lambda: Pod("web").toleration("a", effect="NoSchedule", seconds=1),
        "seconds go with the effect NoExecute",
    ),
    "unknown_effect": (
        lambda: Pod("web").toleration("a", effect=WRONG),
        "must be one of NoExecute, NoSchedule, Prefer",
    ),
    "domains_of_a_wish": (
        lambda: Pod("web").topology_spread("a", when_unsatisfiable="ScheduleAnyway", min_domains=2),
        "min_domains go with DoNotSchedule",
    ),
    "weight_out_of_range": (
        lambda: Affinity().avoid_pods(weight=101),
        "Affinity: weight: must be between 1 and 100, not 101",
    ),
    "no_nodes": (lambda: Affinity().require_nodes({}), "nodeAffinity: an empty selector selects no node"),
    "claim_template_that_is_none": (
        lambda: StatefulSet("db").volume_claim_template(WRONG),
        "spec.volumeClaimTemplates: must be a PersistentVolumeClaim",
    ),
    "two_claim_templates_of_one_name": (
        lambda: (
            StatefulSet("db")
            .volume_claim_template(PersistentVolumeClaim("a").storage(1))
            .volume_claim_template(PersistentVolumeClaim("a").storage(1))
        ),
        "spec.volumeClaimTemplates: two are called 'a'",
    ),
    "bad_container_name": (lambda: Container("App"), "Container \"App\": name: 'App': a lowercase RFC 1123"),
    "empty_image": (lambda: Container("app").image(""), 'Container "app": image: must not be empty'),
    "image_with_space": (
        lambda: Container("app").image("nginx "),
        "image: 'nginx ' begins or ends with a space",
    ),
    "command_in_one_string": (
        lambda: Container("app").command("echo hello"),
        "command: the program is called 'echo hello'; give every word as a string of its own",
    ),
    "command_of_numbers": (lambda: Container("app").command(NOTHING), "command: must be strings, not None"),
    "port_out_of_range": (
        lambda: Container("app").port(70000),
        'Container "app": ports: must be between 1 and 65535, not 70000',
    ),
    "bad_port_name": (lambda: Container("app").port(80, "HTTP"), "ports: 'HTTP': must contain only"),
    "port_twice": (lambda: Container("app").port(80).port(80), "ports: 80/TCP is there twice"),
    "port_name_twice": (lambda: Container("app").port(80, "a").port(81, "a"), "two ports are called 'a'"),
    "unknown_protocol": (lambda: Container("app").port(80, protocol=WRONG), "must be one of SCTP, TCP, UDP"),
    "env_as_flag": (lambda: Container("app").env("DEBUG", True), "env: DEBUG: must be a string, not True"),
    "bad_env_name": (lambda: Container("app").env("A=B", "c"), "env: 'A=B': a valid environment variable"),
    "bad_secret_key": (
        lambda: Container("app").env_from_secret("A", "s", "a/b"),
        "env: 'a/b': a valid config",
    ),
    "mounts_at_one_path": (
        lambda: Container("app").volume_mount("a", "/x").volume_mount("b", "/x"),
        "volumeMounts: there are two at /x",
    ),
    "two_sub_paths": (
        lambda: Container("app").volume_mount("a", "/x", sub_path="a", sub_path_expr="b"),
        "volumeMounts: has either sub_path or sub_path_expr",
    ),
    "probe_that_is_none": (lambda: Container("app").liveness_probe(WRONG), "livenessProbe: must be a Probe"),
    "hook_that_is_none": (lambda: Container("app").pre_stop(WRONG), "lifecycle.preStop: must be a Hook"),
    "liveness_after_two_successes": (
        lambda: Container("app").liveness_probe(Probe.tcp(80).success_threshold(2)),
        "livenessProbe: success_threshold is for readiness probes",
    ),
    "probe_port_out_of_range": (
        lambda: Probe.http("/", 0),
        "Probe: httpGet.port: must be between 1 and 65535",
    ),
    "probe_without_command": (lambda: Probe.exec(), "Probe: exec.command: must name a program"),
    "probe_period_of_zero": (lambda: Probe.tcp(80).period(0), "periodSeconds: must be at least 1, not 0"),
    "hook_header": (lambda: Hook.http("/", 80, headers={"a b": "c"}), "Hook: httpGet.httpHeaders: 'a b'"),
    "bad_quantity": (
        lambda: Resources().memory_limit("lots"),
        "Resources: limits.memory: 'lots' is not a quantity such as '500m' or '1Gi': quantities must match",
    ),
    "quantity_with_wrong_unit": (
        lambda: Resources().memory_limit("512MB"),
        "limits.memory: '512MB' is not a quantity",
    ),
    "negative_quantity": (lambda: Resources().cpu_limit(-1), "limits.cpu: must not be negative, not -1"),
    "quantity_as_flag": (lambda: Resources().cpu_limit(True), "limits.cpu: must be a quantity"),
    "request_above_limit": (
        lambda: Resources().cpu_limit("500m").cpu_request(1),
        "Resources: requests.cpu: 1 is more than the limit 500m",
    ),
    "limit_below_request": (
        lambda: Resources().memory_request("1Gi").memory_limit("512Mi"),
        "requests.memory: 1Gi is more than the limit 512Mi",
    ),
    "privileged_without_escalation": (
        lambda: SecurityContext().allow_privilege_escalation(False).privileged(),
        "allowPrivilegeEscalation: a privileged container can always escalate",
    ),
    "capability_with_prefix": (
        lambda: SecurityContext().drop_capabilities("CAP_NET_RAW"),
        "capabilities.drop: 'CAP_NET_RAW' goes without CAP_ here",
    ),
    "local_profile_without_file": (
        lambda: SecurityContext().seccomp_profile("Localhost"),
        "seccompProfile: Localhost, and only Localhost, names a profile",
    ),
    "bad_volume_name": (lambda: Volume("a.b"), "Volume \"a.b\": name: 'a.b': must not contain dots"),
    "mode_as_decimal": (
        lambda: Volume.secret("a", "b", mode=644),
        'Volume "a": secret: must be between 0 and 511, not 644',
    ),
    "relative_nfs_path": (lambda: Volume.nfs("a", "b", "c"), "nfs.path: must begin with /, not 'c'"),
    "ephemeral_of_nothing": (
        lambda: Volume.ephemeral("a", WRONG),
        "ephemeral: must be a PersistentVolumeClaim",
    ),
    "bad_schedule": (
        lambda: CronJob("nightly").schedule("99 * * * *"),
        "CronJob \"nightly\": spec.schedule: '99 * * * *': end of range (99) above maximum (59): 99",
    ),
    "schedule_with_zone": (
        lambda: CronJob("nightly").schedule("TZ=UTC 0 * * * *"),
        "the time zone goes into time_zone",
    ),
    "unknown_time_zone": (
        lambda: CronJob("nightly").schedule("@daily", "Mars/Olympus"),
        "spec.timeZone: 'Mars/Olympus' is not a known time zone",
    ),
    "service_port_twice": (lambda: Service("web").port(80).port(80), "spec.ports: 80/TCP is there twice"),
    "service_port_name_twice": (
        lambda: Service("web").named_port("a", 80).named_port("a", 81),
        "spec.ports: two ports are called 'a'",
    ),
    "node_port_to_another_target": (
        lambda: Service("web").port(80, 8080).node_port(80, 9090),
        "spec.ports: 80/TCP goes to 8080 already",
    ),
    "service_selecting_by_set": (
        lambda: Service("web").selector(Selector().exists("a")),
        "spec.selector: a service selects by the values of labels only",
    ),
    "bad_cidr": (lambda: Service("web").load_balancer_source_ranges("10.0.0.0"), "loadBalancerSourceRanges"),
    "ingress_path_without_slash": (
        lambda: IngressRule("example.com").path("api", "s", 80),
        'IngressRule "example.com": http.paths.path: must begin with /',
    ),
    "bad_ingress_host": (lambda: IngressRule("a.*.b"), "host: 'a.*.b': a wildcard"),
    "ingress_rule_without_path": (
        lambda: Ingress("web").rule(IngressRule("example.com")),
        "spec.rules: the rule for example.com has no path",
    ),
    "ingress_rule_that_is_none": (lambda: Ingress("web").rule(WRONG), "must be an IngressRule"),
    "policy_rule_of_the_other_side": (
        lambda: NetworkPolicy("p").allow_ingress(NetworkPolicyEgress()),  # type: ignore[arg-type]
        "spec.ingress: must be a NetworkPolicyIngress",
    ),
    "allowed_after_denied": (
        lambda: NetworkPolicy("p").deny_all_ingress().allow_ingress(NetworkPolicyIngress()),
        "spec.ingress: all ingress was denied already",
    ),
    "denied_after_allowed": (
        lambda: NetworkPolicy("p").allow_egress(NetworkPolicyEgress()).deny_all_egress(),
        "spec.egress: some egress was allowed already",
    ),
    "range_backwards": (
        lambda: NetworkPolicyIngress().tcp_port(80, 79),
        "ports.endPort: 80 to 79 is not a range",
    ),
    "peer_cidr": (lambda: NetworkPolicyIngress().from_ip_block("x"), "ipBlock.cidr: 'x'"),
    "config_of_bytes": (lambda: ConfigMap("c").data("k", NOTHING), "data: k: must be a string, not NoneType"),
    "binary_of_text": (
        lambda: ConfigMap("c").binary_data("k", WRONG),
        "binaryData: k: must be bytes, not str",
    ),
    "bad_config_key": (lambda: ConfigMap("c").data("a/b", "c"), "data: 'a/b': a valid config key"),
    "secret_of_numbers": (lambda: Secret("s").data("k", NOTHING), "data: k: must be text or bytes"),
    "no_storage": (
        lambda: PersistentVolumeClaim("c").storage(0),
        "spec.resources.requests.storage: must be more than zero",
    ),
    "unknown_access_mode": (
        lambda: PersistentVolumeClaim("c").access_mode(WRONG),
        "spec.accessModes: must be one of ReadOnlyMany,",
    ),
    "rule_without_verbs": (
        lambda: Role("r").rule(PolicyRule().api_groups("").resources("pods")),
        "PolicyRule: verbs: is empty, so that the rule allows nothing",
    ),
    "rule_without_resources": (lambda: Role("r").rule(PolicyRule().verbs("get")), "resources: is empty"),
    "rule_without_group": (
        lambda: Role("r").rule(PolicyRule().resources("pods").verbs("get")),
        "apiGroups: is empty; the core group is api_groups('')",
    ),
    "rule_of_both_kinds": (
        lambda: ClusterRole("r").rule(PolicyRule().non_resource_urls("/").resources("pods").verbs("get")),
        "nonResourceURLs: a rule is either about resources or about URLs",
    ),
    "urls_in_a_namespace": (
        lambda: Role("r").rule(PolicyRule().non_resource_urls("/").verbs("get")),
        "rules: URLs can be allowed by cluster roles only",
    ),
    "rule_that_is_none": (lambda: Role("r").rule(WRONG), "rules: must be a PolicyRule"),
    "two_roles": (
        lambda: RoleBinding("b").role("a").cluster_role("b"),
        "RoleBinding \"b\": roleRef: is the Role 'a' already",
    ),
    "account_of_nowhere": (
        lambda: RoleBinding("b").service_account("robot"),
        "subjects: in which namespace is 'robot'?",
    ),
    "metric_without_target": (
        lambda: HorizontalPodAutoscaler("web").resource("cpu"),
        "spec.metrics: needs exactly one of utilization, value and average_value",
    ),
    "both_budgets": (
        lambda: PodDisruptionBudget("web").min_available(1).max_unavailable(1),
        "spec.maxUnavailable: a budget has minAvailable or maxUnavailable, and minAvailable is set",
    ),
    "priority_of_the_system": (
        lambda: PriorityClass("p", 2_000_000_000),
        "value: must be between -2147483648 and 1000000000",
    ),
    "raw_value_that_is_no_json": (
        lambda: Deployment("web").raw("spec.x", {1, 2}),
        'Deployment "web": spec.x: Type is not JSON serializable: set',
    ),
    "header_that_is_no_string": (
        lambda: Probe.http("/", 80, headers={"a": NOTHING}),
        "httpGet.httpHeaders: must be strings, not None",
    ),
    "attribute_that_is_no_string": (
        lambda: Volume.csi("a", "b", attributes={"a": NOTHING}),
        "csi.volumeAttributes: must be strings, not None",
    ),
    "raw_path_in_the_way": (
        lambda: Deployment("web").replicas(1).raw("spec.replicas.more", 1),
        "Deployment \"web\": spec.replicas.more: 1 has no field 'more'",
    ),
}

#: Fails when the object is asked for.
AS_A_WHOLE: dict[str, tuple[Callable[[], Any], str]] = {
    "no_container": (
        lambda: Deployment("web"),
        'Deployment "web": spec.template.spec.containers: has no container; add one with',
    ),
    "pod_without_container": (lambda: Pod("web"), 'Pod "web": spec.containers: has no container'),
    "cron_job_without_container": (
        lambda: CronJob("web").schedule("@daily"),
        "spec.jobTemplate.spec.template.spec.containers: has no container",
    ),
    "only_init_container": (lambda: Pod("web").init_container(plain()), "has no container"),
    "container_without_image": (
        lambda: Pod("web").container(Container("app")),
        "spec.containers: container 'app' has no image",
    ),
    "sidecar_called_like_a_container": (
        lambda: deployment().sidecar(plain()),
        "spec.template.spec.containers: two containers are called 'app'",
    ),
    "mount_without_volume": (
        lambda: Pod("web").container(plain().volume_mount("data", "/data")),
        "Pod \"web\": spec.volumes: container 'app' mounts 'data', which is not among the volumes",
    ),
    "device_without_volume": (
        lambda: Pod("web").container(plain().volume_device("data", "/dev/a")),
        "container 'app' mounts 'data'",
    ),
    "probe_of_unknown_port": (
        lambda: Pod("web").container(plain().port(80, "http").readiness_probe(Probe.http("/", "web"))),
        "readinessProbe of container 'app' asks port 'web'",
    ),
    "selector_against_pod_labels": (
        lambda: deployment().selector(app="web").pod_labels(app="other"),
        "Deployment \"web\": spec.selector: does not match the labels of its own pods, {'app': 'other'}",
    ),
    "selector_against_labels": (
        lambda: deployment().selector(app="web").labels(app="other"),
        "metadata.labels: app is 'other', but the selector asks for 'web'",
    ),
    "selector_by_set_against_labels": (
        lambda: deployment().selector(Selector().is_in("tier", "web")).pod_labels(tier="db"),
        "spec.selector: does not match",
    ),
    "raw_selector_of_unknown_operator": (
        lambda: deployment().raw("spec.selector", {"matchExpressions": [{"key": "a", "operator": "Is"}]}),
        'spec.selector: "Is" is not a valid label selector operator',
    ),
    "empty_selector": (lambda: deployment().selector(), "spec.selector: is empty"),
    "name_too_long_for_a_label": (
        lambda: Deployment("a" * 64).container(plain()),
        "spec.selector: the name cannot be used as a label here; give a selector",
    ),
    "generated_name_as_selector": (
        lambda: deployment().generate_name("web-"),
        "spec.selector: the name cannot be used as a label here",
    ),
    "spread_of_unlabelled_pods": (
        lambda: Job("web").container(plain()).topology_spread("rack"),
        "spec.template.spec.topologySpreadConstraints: the pods have no labels to be counted by",
    ),
    "no_schedule": (lambda: CronJob("web").container(plain()), "spec.schedule: when? Call schedule("),
    "no_service_port": (lambda: Service("web"), 'Service "web": spec.ports: has no port'),
    "external_name_with_pods": (
        lambda: Service("web").external_name("a.b").selector(app="web"),
        "spec.selector: an external name has no pods behind it",
    ),
    "empty_ingress": (lambda: Ingress("web"), "spec.rules: has neither a rule nor a default backend"),
    "empty_policy": (lambda: NetworkPolicy("p"), "spec.policyTypes: allows and denies nothing"),
    "claim_without_storage": (
        lambda: PersistentVolumeClaim("c"),
        "spec.resources.requests.storage: how much? Call storage(",
    ),
    "binding_without_role": (lambda: ClusterRoleBinding("b").user("me"), "roleRef: which role?"),
    "binding_of_nobody": (lambda: ClusterRoleBinding("b").cluster_role("r"), "subjects: has no subjects"),
    "rules_of_an_aggregate": (
        lambda: (
            ClusterRole("r").aggregate(a="b").rule(PolicyRule().api_groups("").resources("pods").verbs("get"))
        ),
        "rules: those of an aggregated role are made by the cluster",
    ),
    "autoscaler_of_nothing": (
        lambda: HorizontalPodAutoscaler("web").replicas(1, 2),
        "spec.scaleTargetRef: what is to be scaled?",
    ),
    "autoscaler_without_end": (
        lambda: HorizontalPodAutoscaler("web").target("Deployment", "web"),
        "spec.maxReplicas: how many at most?",
    ),
    "autoscaler_upside_down": (
        lambda: HorizontalPodAutoscaler("web").target("Deployment", "web").replicas(5, 2),
        "spec.minReplicas: 5 is more than maxReplicas, 2",
    ),
    "budget_of_nothing": (lambda: PodDisruptionBudget("b").min_available(1), "spec.selector: which pods?"),
    "budget_without_limit": (
        lambda: PodDisruptionBudget("b").selector(app="web"),
        "spec: needs min_available or max_unavailable",
    ),
}


@pytest.mark.parametrize(("build", "sentence"), AT_THE_CALL.values(), ids=AT_THE_CALL)
def test_a_wrong_call_fails_at_once(build: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(BuildError) as failure:
        build()
    assert sentence in str(failure.value)


@pytest.mark.parametrize(("build", "sentence"), AS_A_WHOLE.values(), ids=AS_A_WHOLE)
def test_what_is_wrong_as_a_whole_fails_when_it_becomes_an_object(
    build: Callable[[], Any], sentence: str
) -> None:
    built = build()
    with pytest.raises(BuildError) as failure:
        built.to_object()
    assert sentence in str(failure.value)


def test_error_tells_its_parts_and_is_a_value_error() -> None:
    with pytest.raises(ValueError) as failure:
        Container("app").port(0)
    error = failure.value
    assert isinstance(error, BuildError)
    assert (error.kind, error.name, error.field) == ("Container", "app", "ports")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
