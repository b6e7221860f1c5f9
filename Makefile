# `make demo` and `make test` start from nothing but Python, make and git.
PYTHON ?= python3
VENV ?= .venv
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
KIT := pyproject.toml kit/__init__.py

.DEFAULT_GOAL := help
.PHONY: help venv demo programs test honest lint format lock clean

help:
	@echo "make demo    measure a small suite on this processor and check its bundle"
	@echo "make test    format, lint, types, layers, tests, and a check of submissions/"
	@echo "make honest  measure 20 bundles under load; check everywhere alike (PYTHONS='python3.12 ...')"
	@echo "make venv    only the environment for both, in $(VENV)"
	@echo "make lint    format, lint, types, layers"
	@echo "make format  rewrite the code in the project's format"
	@echo "make lock    pin requirements/ anew (needs uv)"
	@echo "make clean   remove $(VENV) and all caches"

# Build tools come first and pinned: nothing is fetched or built that has no hash here.
$(VENV)/.build: requirements/build.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --require-hashes -r requirements/build.txt
	touch $@

$(VENV)/.demo: $(VENV)/.build requirements/demo.txt $(KIT)
	$(PIP) install --no-build-isolation --require-hashes -r requirements/demo.txt
	$(PIP) install --no-build-isolation --no-deps --editable .
	touch $@

$(VENV)/.test: $(VENV)/.demo requirements/test.txt
	$(PIP) install --no-build-isolation --require-hashes -r requirements/test.txt
	touch $@

venv: $(VENV)/.test

demo: $(VENV)/.demo
	{ $(BIN)/gemm-kit run suite=quick output=build/demo || test $$? -eq 1; } | tee $(VENV)/demo.txt
	@bundle="$$(sed -n 's/^bundle: //p' $(VENV)/demo.txt)"; \
	echo "$(BIN)/gemm-kit check $$bundle"; \
	$(BIN)/gemm-kit check "$$bundle" | sed "s|^SUMMARY:|$$bundle\n&|"

programs:
	@for program in ssh-agent ssh-keygen sha256sum; do command -v $$program >/dev/null || { \
	echo "make test needs $$program (Debian: openssh-client, coreutils)" >&2; exit 1; }; done

test: programs lint
	$(BIN)/python -m pytest
	$(BIN)/gemm-kit check submissions/

PYTHONS ?=
honest: $(VENV)/.test
	$(BIN)/python tests/proofs/honest_accepted.py --python $(PYTHONS)

lint: $(VENV)/.test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.test
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix-only --quiet .

LOCK := uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --quiet

lock:
	$(LOCK) requirements/build.in -o requirements/build.txt
	$(LOCK) pyproject.toml --extra test -c requirements/build.txt -o requirements/test.txt
	$(LOCK) pyproject.toml --extra run -c requirements/test.txt -o requirements/demo.txt

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
