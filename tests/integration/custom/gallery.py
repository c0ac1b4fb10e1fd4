"""Custom resources that between them use everything a class can say, with objects that fit and that do not."""

# ruff: noqa: RUF012 (defaults of models are copied)

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from ipaddress import IPv4Address
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel

from steersman.objects.custom import (
    AGE,
    Condition,
    CustomResource,
    Duration,
    Field,
    IntOrString,
    Model,
    ObjectMeta,
    PrinterColumn,
    Quantity,
    Scale,
    Time,
    atomic,
    embedded_resource,
    list_map,
    list_set,
    nullable,
    preserve_unknown,
    rule,
)
from steersman.objects.quantities import Quantity as Amount

Object = dict[str, Any]


@dataclass(frozen=True)
class Exhibit:
    """`refused` are specs with a piece of the server's answer; `python_takes` says that only it refuses."""

    resource: type[CustomResource]
    accepted: list[Any]
    refused: list[tuple[Object, str]] = field(default_factory=list)
    python_takes: bool = False
    #: Some defaults are in parts of which the server knows nothing.
    hidden_defaults: bool = False


# --- The class of the README: plain pydantic models


class WebAppSpec(BaseModel):
    image: str = Field(pattern=r".+:.+")
    replicas: int = Field(1, ge=0, le=50)


class WebAppStatus(BaseModel):
    availableReplicas: int = 0  # noqa: N815 (a plain model's names are those of the JSON)
    selector: str = ""
    conditions: Annotated[list[Condition], list_map("type")] = []


class WebApp(
    CustomResource,
    group="example.com",
    version="v1",
    short_names=["wa"],
    categories=["all"],
    columns=[PrinterColumn("Image", ".spec.image"), PrinterColumn("Replicas", ".spec.replicas"), AGE],
    scale=Scale(status_replicas=".status.availableReplicas", label_selector=".status.selector"),
    selectable_fields=[".spec.image"],
):
    """An application on the web."""

    spec: WebAppSpec
    status: WebAppStatus = WebAppStatus()


# --- Scalars and their constraints


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class ScalarsSpec(Model):
    text: str = Field("abc", min_length=2, max_length=5)
    pattern: str = Field("v1", pattern="^v[0-9]+$")
    whole: int = Field(4, gt=0, lt=10, multiple_of=2)
    real: float = Field(0.5, gt=0, le=1)
    flag: bool = False
    colour: Colour = Colour.RED
    level: Level = Level.LOW
    mode: Literal["fast", "slow"] = "fast"
    constant: Literal["only"] = "only"
    number_or_name: Literal[1, "one"] = 1
    port: IntOrString = "http"
    surge: int | str = 1
    cpu: Quantity = Amount.parse("100m")
    memory: Quantity | None = None
    timeout: Duration = timedelta(minutes=1, seconds=30)
    iso_timeout: timedelta = timedelta(hours=2)
    price: Decimal = Decimal("1.50")
    moment: Time = datetime(2026, 1, 31, 12, tzinfo=UTC)
    any_moment: datetime | None = None
    day: date = date(2026, 1, 31)
    identity: UUID = UUID("12345678-1234-5678-1234-567812345678")
    address: IPv4Address = IPv4Address("10.0.0.1")


class Scalar(CustomResource, group="scalars.example.com", version="v1alpha1", scope="Cluster"):
    spec: ScalarsSpec = ScalarsSpec()


# --- None


class NothingSpec(Model):
    absent: str | None = None
    required_or_null: str | None
    five_or_null: int | None = 5
    null_by_default: Annotated[int | None, nullable()] = None
    holes: list[int | None] = []
    maybe: Literal["yes", "no", None] = None


class Nothing(CustomResource, group="nothing.example.com", version="v1", plural="nothings"):
    spec: NothingSpec


# --- Containers


class Port(Model):
    name: str
    container_port: int = Field(ge=1, le=65535)
    protocol: Literal["TCP", "UDP"] = "TCP"


class Point(Model, frozen=True):
    x: int
    y: int


class ContainersSpec(Model):
    ports: Annotated[list[Port], list_map("containerPort", "protocol")] = []
    tags: Annotated[list[str], list_set()] = []
    numbers: set[int] = {3, 1, 2}
    points: frozenset[Point] = frozenset()
    labels: dict[str, str] = Field(default_factory=dict, max_length=3)
    limits: dict[str, Quantity] = {}
    by_name: dict[str, Port] = {}
    matrix: list[list[float]] = Field([], max_length=2)
    pair: tuple[int, int] = (0, 1)
    whole: Annotated[list[str], atomic()] = []
    corner: Annotated[Point, atomic()] = Point(x=0, y=0)
    ports_of: dict[str, list[Port]] = {}


class Container(CustomResource, group="containers.example.com", version="v1"):
    spec: ContainersSpec = ContainersSpec()


# --- What is unknown


class Open(Model, extra="allow"):
    known: int = 0


class Tree(Model):
    name: str
    children: Annotated[list[Tree], preserve_unknown()] = []


class UnknownSpec(Model):
    anything: Any = None
    mapping: dict[str, Any] = {}
    things: list[Any] = []
    open: Open = Open()
    tree: Tree | None = None
    template: Annotated[Object | None, embedded_resource()] = None
    metadata: ObjectMeta | None = None


class Unknown(CustomResource, group="unknown.example.com", version="v1", extra="allow"):
    spec: UnknownSpec = UnknownSpec()


# --- Unions


class Http(Model):
    """Asks over HTTP."""

    type: Literal["http"] = "http"
    path: str = "/"
    timeout: int = Field(1, ge=1)


class Tcp(Model, rules=[rule("self.port != 22", "must not be 22")]):
    type: Literal["tcp", "tls"]
    port: int
    timeout: int = Field(10, ge=10)


class ByName(Model):
    name: str


class ByLabel(Model):
    label: str = Field(min_length=2)


class UnionSpec(Model):
    probe: Annotated[Http | Tcp, Field(discriminator="type")] | None = None
    probes: list[Annotated[Http | Tcp, Field(discriminator="type")]] = []
    target: ByName | ByLabel | None = None
    size: Literal["small"] | Annotated[str, Field(pattern="^[0-9]+$")] = "small"
    amount: int | float = 1
    port: Annotated[int, Field(ge=1)] | Annotated[str, Field(min_length=2)] = 80


class Union(CustomResource, group="unions.example.com", version="v1"):
    spec: UnionSpec = UnionSpec()


# --- Rules


class Range(Model, rules=[rule("self.low <= self.high", "low must not be above high")]):
    low: int = 0
    high: int = 10


class RuledSpec(Model):
    limits: Range = Range()
    class_name: Annotated[str, rule("self == oldSelf", "is immutable", reason="FieldValueForbidden")] = "a"
    strict: Annotated[
        Range,
        rule("self.high < 100", message_expression="self.low > 0 ? 'narrow' : 'wide'", field_path=".high"),
    ] = Range()


class Ruled(
    CustomResource,
    group="rules.example.com",
    version="v1",
    rules=[rule("self.metadata.name.startsWith('r')", "names start with r")],
):
    spec: RuledSpec = RuledSpec()


# --- Without spec and status


class Policy(CustomResource, group="data.example.com", version="v1", scope="Cluster"):
    allowed_users: list[str] = []
    default_mode: Literal["allow", "deny"] = "deny"


EXHIBITS = [
    Exhibit(
        WebApp,
        [WebAppSpec(image="nginx:1"), WebAppSpec(image="nginx:1", replicas=0)],
        [
            ({"image": "nginx"}, "spec.image in body should match"),
            ({"image": "nginx:1", "replicas": 51}, "should be less than or equal to 50"),
            ({}, "spec.image: Required value"),
        ],
    ),
    Exhibit(
        Scalar,
        [ScalarsSpec(), ScalarsSpec(port=80, number_or_name="one", memory=Amount.parse("1Gi"), whole=8)],
        [
            ({"text": "a"}, "should be at least 2 chars long"),
            ({"whole": 10}, "should be less than 10"),
            ({"whole": 3}, "should be a multiple of 2"),
            ({"real": 0}, "should be greater than 0"),
            ({"colour": "green"}, 'supported values: "red", "blue"'),
            ({"level": 3}, "supported values"),
            ({"constant": "other"}, "supported values"),
            ({"numberOrName": 2}, "supported values"),
            ({"cpu": "1 core"}, "should match"),
            ({"timeout": "soon"}, "must be of type duration"),
            ({"price": "a lot"}, "should match"),
            ({"moment": "noon"}, "must be of type date-time"),
            ({"identity": "me"}, "must be of type uuid"),
            ({"address": "10.0.0"}, "must be of type ipv4"),
        ],
    ),
    Exhibit(
        Nothing,
        [
            NothingSpec(required_or_null=None),
            NothingSpec(required_or_null="a", five_or_null=None, null_by_default=None, maybe="yes"),
            NothingSpec(required_or_null="a", holes=[1, None], null_by_default=3),
        ],
        [({}, "spec.requiredOrNull: Required value"), ({"requiredOrNull": 1}, "must be of type string")],
    ),
    Exhibit(
        Container,
        [
            ContainersSpec(),
            ContainersSpec(
                ports=[Port(name="a", container_port=1), Port(name="a", container_port=1, protocol="UDP")],
                points=frozenset({Point(x=1, y=2)}),
                limits={"cpu": Amount.parse("2")},
                by_name={"a": Port(name="a", container_port=2)},
                ports_of={"a": [Port(name="a", container_port=2)]},
                matrix=[[1.5]],
            ),
        ],
        [
            ({"ports": [{"name": "a", "containerPort": 0}]}, "should be greater than or equal to 1"),
            ({"pair": [1]}, "should have at least 2 items"),
            ({"labels": {"a": "1", "b": "2", "c": "3", "d": "4"}}, "Too many"),
            ({"byName": {"a": {"name": "a"}}}, "spec.byName.a.containerPort: Required value"),
        ],
    ),
    Exhibit(
        Container,
        [],
        [
            ({"tags": ["a", "a"]}, "Duplicate value"),
            (
                {"ports": [{"name": "a", "containerPort": 1}, {"name": "b", "containerPort": 1}]},
                "Duplicate value",
            ),
        ],
        python_takes=True,
    ),
    Exhibit(
        Unknown,
        [
            UnknownSpec(anything={"a": [1, None]}, mapping={"deep": {"er": True}}, things=[1, "a", {}]),
            UnknownSpec(open=Open.model_validate({"known": 1, "other": {"kept": True}})),
            UnknownSpec(tree=Tree(name="root", children=[Tree(name="leaf", children=[])])),
            UnknownSpec(template={"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {}}),
            UnknownSpec(metadata=ObjectMeta(labels={"a": "b"})),
        ],
        [({"open": {"known": "no"}}, "must be of type integer")],
        hidden_defaults=True,
    ),
    Exhibit(
        Union,
        [
            UnionSpec(),
            UnionSpec(probe=Http(type="http"), target=ByName(name="a"), size="12", amount=1.5, port="http"),
            UnionSpec(probe=Http(type="http", path="/healthz", timeout=2), target=ByLabel(label="ab")),
            UnionSpec(probes=[Http(type="http"), Tcp(type="tls", port=443)]),
        ],
        [
            ({"probe": {"type": "udp"}}, "supported values"),
            ({"probe": {"path": "/"}}, "spec.probe.type: Required value"),
            ({"probe": {"type": "tcp"}}, "must validate one and only one schema (oneOf)"),
            (
                {"probe": {"type": "tcp", "port": 1, "timeout": 5}},
                "must validate one and only one schema (oneOf)",
            ),
            ({"target": {}}, "must validate at least one schema (anyOf)"),
            ({"target": {"label": "a"}}, "should be at least 2 chars long"),
            ({"size": "big"}, "spec.size"),
            ({"port": 0}, "should be greater than or equal to 1"),
            ({"port": "a"}, "should be at least 2 chars long"),
        ],
        hidden_defaults=True,
    ),
    Exhibit(Union, [], [({"probe": {"type": "tcp", "port": 22}}, "must not be 22")], python_takes=True),
    Exhibit(
        Ruled,
        [RuledSpec(), RuledSpec(limits=Range(low=3))],
        [
            ({"limits": {"low": 11}}, "low must not be above high"),
            ({"strict": {"low": 5, "high": 4}}, "low must not be above high"),
            ({"strict": {"high": 100}}, "spec.strict.high: Invalid value: wide"),
        ],
        python_takes=True,
    ),
]
