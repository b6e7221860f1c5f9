# `make demo` and `make test` start from nothing but Python, make and git.
PYTHON ?= python3
VENV ?= .venv
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
KIT := pyproject.toml kit/__init__.py

.DEFAULT_GOAL := help
.PHONY: help venv demo programs test honest battery fuzz lint format lock clean

help:
	@echo "make demo    measure a small suite on this processor and check its bundle"
	@echo "make test    format, lint, types, layers, tests, and a check of submissions/"
	@echo "make honest  measure bundles under load; check them alike everywhere (PYTHONS=...)"
	@echo "make battery forge some 900 bundles and print which rule caught each"
	@echo "make fuzz    look for bundles that crash the checker, for FUZZ_SECONDS"
	@echo "make venv    only the environment for both, in $(VENV)"
	@echo "make lint    format, lint, types, layers"
	@echo "make format  rewrite the code in the project's format"
	@echo "make lock    pin requirements/ anew (needs uv)"
	@echo "make clean   remove $(VENV) and all caches"

# Build tools come first and pinned: nothing is fetched or built that has no hash here.
$(VENV)/.build: requirements/build.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || \
	  { echo "$(PYTHON) is no Python 3.11 to 3.13: make PYTHON=python3.12 names another" >&2; exit 1; }
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
BUNDLES ?= 20
honest: $(VENV)/.test
	$(BIN)/python tests/proofs/honest_accepted.py --bundles $(BUNDLES) --python $(PYTHONS)

battery: $(VENV)/.test
	PYTHONPATH=.:tests $(BIN)/python -m battery

# What it finds lands in build/corpus, a failure in build/fuzz-*; what is worth keeping, in the repo.
# atheris itself keeps a third of a megabyte a bundle; the checker stays at 62 MB for 1,200 of them.
FUZZ_SECONDS ?= 600
$(VENV)/.fuzz: $(VENV)/.test requirements/fuzz.txt
	$(PIP) install --require-hashes -r requirements/fuzz.txt
	touch $@

fuzz: $(VENV)/.fuzz
	mkdir -p build/corpus
	PYTHONPATH=.:tests $(BIN)/python -m fuzz -max_total_time=$(FUZZ_SECONDS) -timeout=10 \
	  -max_len=96 -rss_limit_mb=16000 -malloc_limit_mb=2000 -artifact_prefix=build/fuzz- build/corpus tests/fuzz/corpus

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
	$(LOCK) requirements/fuzz.in -o requirements/fuzz.txt
	$(LOCK) pyproject.toml --extra test -c requirements/build.txt -o requirements/test.txt
	$(LOCK) pyproject.toml --extra run -c requirements/test.txt -o requirements/demo.txt

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
