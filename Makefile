# Everything a newcomer needs: `make demo` shows it, `make test` proves it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Tests run side by side, one more than there are cores since they wait a lot; those of one file together, since
# they may share what they started; the many quick ones last, so that all workers end at the same time.
PARALLEL := --numprocesses $(shell expr $$(nproc) + 1) --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help demo test check format bench sim mutants docs originals record servers clean

help: ## show this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-9s %s\n", $$1, $$2}'

demo: $(VENV)/demo ## a cluster, an operator and its web app, live in the terminal
	@$(BIN)/steer demo

test: $(VENV)/dev $(VENV)/kinds servers ## everything: the checks and all tests, with real servers and clients
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest $(PARALLEL)

check: $(VENV)/dev $(VENV)/kinds ## the quick gate: format, lint, types, import layers, fast tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest $(PARALLEL) -m "not slow" tests/unit tests/scenarios tests/conformance

format: $(VENV)/dev ## format the code and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/dev ## measure, and print tables (see benchmarks/)
	@scripts/install-servers wrk etcd
	@$(BIN)/python -m benchmarks

sim: $(VENV)/dev ## replay one simulated life of a Raft cluster: make sim SEED=n
	@$(BIN)/python -m tests.sim.raft $(or $(SEED),0)

mutants: $(VENV)/dev ## make the named mistakes in Raft; print how many the tests notice
	@$(BIN)/python -m tests.mutation.raft

docs: $(VENV)/docs ## the guide, as HTML in site/; warnings are errors
	$(BIN)/python -m sphinx -W --keep-going -q -b html -d site/.doctrees docs site
	@echo "file://$(CURDIR)/site/index.html"

originals: $(VENV)/dev ## the original Kubernetes, etcd, … as judges, in your cache (needs Go; optional)
	@! command -v cargo >/dev/null || scripts/install-servers libclang protoc cmake g++
	@$(BIN)/python -m tests.originals

record: $(VENV)/dev ## take the recordings in tests/recordings anew from the originals
	@$(BIN)/python -m tests.recordings

servers:
	@scripts/install-servers kubectl redis-server postgres chromium promtool

clean: ## remove the virtual environment, the built guide and caches
	rm -rf $(VENV) site .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

# The stamps say for which extras the environment was made. Bytecode is made at once: a start without it
# compiles everything, which takes longer than the start itself.
$(VENV)/python:
	@command -v "$(PYTHON)" >/dev/null || \
		{ echo "there is no $(PYTHON); on Debian and Ubuntu: apt-get install python3 python3-venv" >&2; exit 1; }
	@"$(PYTHON)" scripts/check_python.py
	"$(PYTHON)" -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --upgrade pip
	@touch $@

$(VENV)/demo: $(VENV)/python pyproject.toml constraints.txt hatch_build.py
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[cluster]'
	@$(BIN)/python -m compileall -q src
	@touch $@

$(VENV)/dev: $(VENV)/python pyproject.toml constraints.txt hatch_build.py
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[all,dev,docs]'
	@$(BIN)/python -m compileall -q src
	@touch $@ $(VENV)/demo $(VENV)/docs

# Python's types of Kubernetes' kinds are made by the installation, and again when their description has changed.
$(VENV)/kinds: src/steersman/cluster/schema/wire.txt src/steersman/cluster/schema/enums.txt \
		src/steersman/objects/kinds/views.txt $(wildcard src/steersman/objects/kinds/generating/*.py) \
		| $(VENV)/dev
	@$(BIN)/python -m steersman.objects.kinds.generating
	@touch $@

$(VENV)/docs: $(VENV)/demo
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[all,docs]'
	@touch $@
