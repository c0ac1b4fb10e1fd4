"""The compiled rules are those of rules.txt, also after a line was edited."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from steersman.cluster.schema.rule_table import building, inputs
from steersman.cluster.schema.rule_table.inputs import RULES_FILE
from steersman.cluster.schema.table import table_file
from steersman.cluster.schema.validation import compiled, rules_for
from steersman.objects.fields import FieldError
from steersman.objects.fields import Path as FieldPath


def test_the_compiled_modules_are_those_of_the_rules() -> None:
    rules_for("", "Pod")
    folder = Path(compiled.__file__).parent
    for name, source in building.compile_rules(RULES_FILE.read_text("utf-8"), table_file()).items():
        assert (folder / f"{name}.py").read_text("utf-8").startswith(source)


def test_an_edited_line_changes_the_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = inputs.digest(table_file())
    edited = tmp_path / "rules.txt"
    edited.write_text(RULES_FILE.read_text("utf-8").replace("min 0", "min 1", 1))
    monkeypatch.setattr(inputs, "_TEXTS", (edited, *inputs._TEXTS[1:]))
    assert inputs.digest(table_file()) != before


def test_what_no_section_makes_any_more_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "_COMPILED", tmp_path)
    (tmp_path / "_old.py").write_text("")
    (tmp_path / "__init__.py").write_text("")
    building.build(table_file())
    names = {file.name for file in tmp_path.iterdir()}
    assert "_old.py" not in names
    assert {"__init__.py", "_index.py", "_coordination_v1_coordination.py"} <= names


def test_fields_of_the_same_name_in_two_structs_are_both_looked_up() -> None:
    text = "[core.v1]\nPodTemplate\n  metadata.name  required\n  template.metadata.name  required"
    sources = building.compile_rules(text, table_file())
    module: dict[str, Any] = {}
    exec(compile(sources["_core_v1"], "rules.txt", "exec"), module)
    errors: list[FieldError] = []
    module["check_PodTemplate"]({"metadata": {"name": "a"}}, FieldPath(), errors, None)
    assert [error.field for error in errors] == ["template.metadata.name"]
