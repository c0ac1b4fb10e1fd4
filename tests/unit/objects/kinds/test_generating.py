"""Python's types of Kubernetes' kinds: made from the description, and wrong descriptions refused."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from mypy import api

from steersman.objects.kinds import enums, generating
from steersman.objects.kinds.generating.description import Description, DescriptionError, snake
from steersman.objects.kinds.generating.view_classes import view_modules
from steersman.objects.kinds.generating.view_files import read_views
from steersman.objects.kinds.types import core_v1
from steersman.objects.kinds.views.pods import PodView

_KINDS = Path(generating.__file__).parents[1]
_SCHEMA = _KINDS.parents[1] / "cluster" / "schema"
_SOURCES = generating.sources(_SCHEMA, _KINDS)


@pytest.fixture(scope="module")
def described() -> Description:
    return Description.read(_SOURCES)


def _generated(text: str, described: Description) -> dict[str, str]:
    return dict(view_modules(read_views(text, described), described))


def test_what_is_installed_was_made_from_the_description_as_it_is(tmp_path: Path) -> None:
    generating.generate(_SOURCES, tmp_path)
    made = {path.relative_to(tmp_path): path.read_text() for path in tmp_path.rglob("*.py")}
    there = {
        path.relative_to(_KINDS): path.read_text()
        for pattern in generating.MADE
        for path in _KINDS.glob(pattern)
    }
    assert made == there, (
        "views.txt or another description has changed: run `make check`, which makes them anew"
    )


@pytest.mark.parametrize(
    ("name", "python"),
    [
        ("deletionTimestamp", "deletion_timestamp"),
        ("podIP", "pod_ip"),
        ("podIPs", "pod_ips"),
        ("podCIDRs", "pod_cidrs"),
        ("clusterIP", "cluster_ip"),
        ("hostPID", "host_pid"),
        ("resourceVersion", "resource_version"),
        ("continue", "continue_"),
        ("x-kubernetes-int-or-string", "x_kubernetes_int_or_string"),
    ],
)
def test_fields_have_python_names(name: str, python: str) -> None:
    assert snake(name) == python


def test_a_view_reads_its_fields_and_gives_gos_zero_values_for_the_rest() -> None:
    pod = msgspec.json.decode(
        b'{"kind":"Pod","metadata":{"name":"a","labels":{"app":"web"}},'
        b'"spec":{"nodeName":"n","initContainers":[{"name":"s","image":"i","restartPolicy":"Always"}]}}',
        type=PodView,
    )
    assert (pod.metadata.name, pod.metadata.labels, pod.spec.node_name) == ("a", {"app": "web"}, "n")
    assert (pod.metadata.deletion_timestamp, pod.status.phase, pod.status.conditions) == (None, "", ())
    assert [container.is_sidecar for container in pod.spec.init_containers] == [True]
    assert (pod.ready, pod.terminal, pod.active) == (False, False, True)


def test_a_kind_without_metadata_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"kind":"Pod"}', type=PodView)


def test_enumerations_have_the_values_that_kubernetes_documents() -> None:
    assert set(enums.PodPhase.__args__) == {"Failed", "Pending", "Running", "Succeeded", "Unknown"}


_HEAD = "[somewhere]\nSome: core.v1.Pod\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            "Some: core.v1.Pod\n", "views.txt:1: before the first [module]: Some: core.v1.Pod", id="no module"
        ),
        pytest.param(
            "[m]\nSome: core.v1.Pot\n", "views.txt:2: Kubernetes has no type core.v1.Pot", id="no such type"
        ),
        pytest.param("[m]\nsome pod\n", "views.txt:2: neither `Name: group.version.Type`", id="no view"),
        pytest.param(
            _HEAD + "  spec(nodName)\n", "views.txt:3: PodSpec has no field 'nodName'", id="no such field"
        ),
        pytest.param(
            _HEAD + "  spec(nodeName(a))\n", "views.txt:3: nodeName has no fields", id="a string's fields"
        ),
        pytest.param(
            _HEAD + "  spec\n", "views.txt:3: say which fields of spec", id="a struct without fields"
        ),
        pytest.param(
            _HEAD + "  spec(nodeName\n", "views.txt:3: a parenthesis is not closed", id="not closed"
        ),
        pytest.param(_HEAD + "  spec(nodeName))\n", "views.txt:3: cannot read ')' here", id="not opened"),
        pytest.param(
            _HEAD + "  metadata(name)\nSome: core.v1.Pod\n", "views.txt:4: Some exists already", id="twice"
        ),
        pytest.param(
            _HEAD + "  (name)\n", "views.txt:3: a parenthesis without a field before it", id="no field"
        ),
    ],
)
def test_a_wrong_description_is_refused_with_its_line(
    text: str, message: str, described: Description
) -> None:
    with pytest.raises(DescriptionError) as refused:
        _generated(text, described)
    assert message in str(refused.value)


def test_nullable_fields_are_read_as_none(described: Description) -> None:
    text = "[m]\nSome: meta.v1.ObjectMeta\n  labels? finalizers\n"
    made = _generated(text, described)["m"]
    assert "labels: dict[str, str] | None = None" in made
    assert "finalizers: tuple[str, ...] = ()" in made


_READERS = """
from steersman.objects.kinds.types import core_v1
from steersman.objects.kinds.views.pods import PodView

def right(view: PodView, pod: core_v1.Pod) -> object:
    return view.spec.node_name, pod["spec"]["nodeName"], view.status.phase == "Failed"

def wrong(view: PodView, pod: core_v1.Pod) -> object:
    return (
        view.spec.nod_name,
        pod["spec"]["nodName"],
        view.status.phase == "Faild",
    )
"""


@pytest.mark.slow
def test_a_wrong_field_or_value_is_an_error_of_mypy(tmp_path: Path) -> None:
    (tmp_path / "readers.py").write_text(_READERS)
    found, _, _ = api.run(["--strict", "--no-error-summary", str(tmp_path / "readers.py")])
    errors = [line.split(": ", 1)[1] for line in found.splitlines() if ": error: " in line]
    assert [line.split(":", 2)[1] for line in found.splitlines() if ": error: " in line] == [
        "10",
        "11",
        "12",
    ], errors


def test_at_run_time_a_type_is_dict() -> None:
    assert core_v1.Pod is dict
    assert not hasattr(core_v1, "__path__")
