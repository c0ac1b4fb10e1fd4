"""Every named mistake is noticed by a test. `make mutants` prints the list."""

from __future__ import annotations

from pathlib import Path

import pytest

import steersman.raft.core
from tests.mutation.raft.named import GUARDS, MUTANTS, NamedMutant
from tests.mutation.trial import Bench

_CORE = Path(steersman.raft.core.__file__).parent


@pytest.mark.parametrize("mutant", [pytest.param(mutant, id=mutant.name) for mutant in MUTANTS])
def test_a_mutant_is_a_change_that_compiles(mutant: NamedMutant) -> None:
    source = (_CORE / f"{mutant.module}.py").read_text(encoding="utf-8")
    changed = mutant.of(source)
    assert changed != source
    compile(changed, mutant.path, "exec")


def test_mutants_have_different_names() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 20


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    bench = Bench(tmp_path_factory.mktemp("mutation"))
    bench.passes(GUARDS)
    return bench


@pytest.mark.slow
@pytest.mark.parametrize("mutant", [pytest.param(mutant, id=mutant.name) for mutant in MUTANTS])
def test_the_mistake_is_noticed(mutant: NamedMutant, bench: Bench) -> None:
    assert bench.catches(mutant.path, mutant.of(bench.source(mutant.path)), GUARDS), "no test fails with it"
