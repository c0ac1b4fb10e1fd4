"""Every rule of rules.txt bites: an object that breaks it alone is refused, with its reason at its field."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path as File
from typing import Any

import pytest

from steersman.cluster.schema import validation
from steersman.cluster.schema.rule_table.building import compile_section
from steersman.cluster.schema.rule_table.catalog import Catalog
from steersman.cluster.schema.rule_table.fields import Types
from steersman.cluster.schema.rule_table.inputs import RULES_FILE
from steersman.cluster.schema.rule_table.reading import Section, parse
from steersman.cluster.schema.table import table_file
from steersman.objects.fields import FieldError, Path
from tests.unit.cluster.schema.rule_table.breaking import NO_RULES, Case, broken, case_of, kept


@cache
def types() -> Types:
    return Types(json.loads(table_file().read_bytes()))


@cache
def sections() -> list[Section]:
    return parse(RULES_FILE.read_text("utf-8"))


def _cases() -> Iterator[Any]:
    for section in sections():
        for block in section.blocks:
            for line in block.lines:
                for rule in line.rules:
                    if rule.word not in NO_RULES:
                        name = f"{line.number}-{block.type}.{line.field}-{rule.word}"
                        yield pytest.param(case_of(section, block, line, rule, types()), id=name)


def _errors(case: Case, objects: list[Any], old: Any = None) -> list[FieldError]:
    source = compile_section(case.section, Catalog([case.section], types()), types())
    module: dict[str, Any] = {}
    exec(compile(source, "rules.txt", "exec"), module)
    errors: list[FieldError] = []
    seen = [tuple(set() for _ in range(case.target.uniques))] if case.target.uniques else []
    for obj in objects:
        arguments = [None, *[old] * case.target.compares, *seen]
        module[case.target.function](obj, Path("here"), errors, *arguments)
    return errors


@pytest.mark.parametrize("case", list(_cases()))
def test_a_broken_rule_is_reported_where_it_stands(case: Case) -> None:
    objects, old = broken(case, types())
    found = [(error.reason, error.field) for error in _errors(case, objects, old)]
    assert (case.reason, case.path) in found
    assert {field for _, field in found} == {case.path}
    if case.rule.text is not None:
        assert {error.detail for error in _errors(case, objects, old)} == {case.rule.text}


@pytest.mark.parametrize("case", list(_cases()))
def test_a_rule_that_is_kept_says_nothing(case: Case) -> None:
    assert any(not _errors(case, [obj]) for obj in kept(case, types()))


def test_every_block_is_asked_by_a_kind_another_block_or_a_function() -> None:
    folder = File(validation.__file__).parent
    texts = {
        node.value
        for file in folder.rglob("*.py")
        if file.parent.name != "compiled"
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    called = {
        rule.arguments[0]
        for section in sections()
        for block in section.blocks
        for line in block.lines
        for rule in line.rules
        if rule.word == ">"
    }
    named = {re.sub(r"^\[\]", "", text).rpartition(".")[2].split(" ")[0] for text in texts}
    for section in sections():
        for block in section.blocks:
            full = types().full_name(block.type if "." in block.type else f"{section.package}.{block.type}")
            short = block.type.rpartition(".")[2]
            assert types().kind(full) or short in called | named, f"line {block.number}: {block.type}"
