# `make` prints what there is. Everything runs from .venv, which `make setup` fills from the lock.

PYTHON ?= $(shell for candidate in python3 python3.13 python3.12 python3.11; do \
	$$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo $$candidate && break; done)
# One more than two cores: in most integration tests all wait for a server now and then.
WORKERS ?= 3

BIN := .venv/bin
READY := .venv/.ready
PACKAGES := $(sort $(wildcard libs/*/pyproject.toml services/*/pyproject.toml))
# The long files at both ends, from which the workers take (tests/conftest.py): where they meet, a
# short one is left to the worker that is done before the other.
TESTED := $(wildcard $(addprefix tests/,e2e tidy contract unit integration))

# The tests start hundreds of processes: without compiled files each compiles all that it loads.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup demo up test chaos bench quality leaks check lint fmt types imports contracts \
	contracts-check req clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile

setup: $(READY) ## make .venv with everything that the lock names, and the packages of this repository

$(READY): requirements.lock $(PACKAGES)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "Chancery needs Python 3.11 or newer: install it, or name it with PYTHON=/path/to/python3."; \
		exit 1; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear .venv || { \
		echo "Python could not make .venv: on Debian and Ubuntu install the package python3-venv."; \
		exit 1; }
	@echo "Installing what requirements.lock names into .venv ..."
	@$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --require-hashes \
		-r requirements.lock
	@$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --no-deps \
		--no-build-isolation $(patsubst %/pyproject.toml,-e ./%,$(PACKAGES))
	@touch $(READY)

demo: setup ## play the whole path on real parts and say what happened
	@$(BIN)/chancery demo

up: setup ## run NATS, PostgreSQL and the six services here until Ctrl-C
	@$(BIN)/chancery up

test: setup ## run every test but chaos and bench
	@$(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(TESTED)

chaos: setup ## run the tests that kill, pause and partition parts
	@$(BIN)/python -m pytest -q -n 2 tests/chaos

bench: setup ## measure speed and memory; writes JSON to bench-results
	@$(BIN)/python -m tests.bench
	@$(BIN)/python -m tests.bench.sql
	@$(BIN)/python -m tests.bench.release
	@$(BIN)/python -m tests.bench.rebuild
	@$(BIN)/python -m tests.bench.search
	@$(BIN)/python -m tests.bench.publish

quality: setup ## measure the selection of evidence; writes JSON to bench-results
	@$(BIN)/python -m tests.quality

leaks: setup ## try every route as each of ten principals with the ids of every other one
	@CHANCERY_LEAKS=every-pair $(BIN)/python -m pytest -q tests/e2e/leaks

check: lint types imports contracts-check req test ## everything that CI runs

lint: setup ## look for style and likely mistakes
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .

fmt: setup ## format, and mend what can be mended safely
	@$(BIN)/ruff check --quiet --fix .
	@$(BIN)/ruff format --quiet .

types: setup ## check the types, tests included
	@$(BIN)/basedpyright

imports: setup ## check who may import whom
	@$(BIN)/lint-imports --no-logo

contracts: setup ## write contracts/ from the code
	@$(BIN)/python -m chancery.testkit.contracts

contracts-check: setup ## fail when contracts/ differs from the code
	@$(BIN)/python -m chancery.testkit.contracts --check

req: setup ## list each requirement with its tests, and the gaps
	@$(BIN)/python -m chancery.testkit.requirements

clean: ## remove caches and build results; .venv and data stay
	@rm -rf .pytest_cache .ruff_cache .hypothesis .import_linter_cache build dist bench-results
	@find libs services tests -name __pycache__ -type d -prune -exec rm -rf {} +
