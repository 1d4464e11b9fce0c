# Thin targets over tools/, pytest and the proofreel command. `make help` lists them.

.DEFAULT_GOAL := help
.PHONY: help setup demo serve test check bench soak lock format clean

# Arguments for the command behind a target: make demo ARGS="--help"
ARGS ?=
PYTEST_ARGS ?=
# One process of tests to each processor; a file's tests stay together, because they share what they set up.
PARALLEL ?= --numprocesses=auto --dist=loadfile --no-loadscope-reorder

# The first Python that really starts and is new enough (a version manager's shim may exist and not start).
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
ifndef PYTHON
PYTHON := $(shell for python in .venv/bin/python python3.13 python3.12 python3.11 python3; do \
	if $$python -c '$(NEW_ENOUGH)' 2>/dev/null; then command -v $$python; break; fi; done)
endif

BIN := .venv/bin
# The browser that the set-up found; one that the user configured wins there too.
RUN = PROOFREEL_CHROMIUM="$$(cat .venv/.chromium)"

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Set up .venv with the locked dependencies, a Chromium and a font (done by the others as needed)
	@"$(or $(PYTHON),none)" -c '$(NEW_ENOUGH)' 2>/dev/null || { echo 'error: no Python 3.11 or newer found:' \
		'install one (Debian: apt-get install python3 python3-venv) or name it: make PYTHON=/path/to/python3' >&2; exit 1; }
	@"$(PYTHON)" -m tools.bootstrap

demo: setup ## Run the whole story: record, guard, read back, reconcile, replay (ARGS="...")
	@$(RUN) $(BIN)/proofreel demo $(ARGS)

serve: setup ## Open the desk on the records there are (ARGS="...")
	@$(RUN) $(BIN)/proofreel serve $(ARGS)

test: setup ## Run all tests, those in a real browser and a real database included (PYTEST_ARGS="...", PARALLEL= for one by one)
	@$(RUN) $(BIN)/python -m pytest $(PARALLEL) $(PYTEST_ARGS)

check: setup ## Lint, format, types, and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo --cache-dir .cache/import-linter

bench: setup ## Measure, and print the tables (ARGS="...")
	@$(RUN) $(BIN)/python -m tests.benchmarks $(ARGS)

soak: setup ## Run the tests that take minutes
	@$(RUN) $(BIN)/python -m pytest -m soak --timeout=0 $(PYTEST_ARGS)

format: setup ## Format the code, and repair what the linter can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: setup ## Write requirements.lock from pyproject.toml (ARGS=--upgrade for newer versions)
	@$(BIN)/python -m tools.lock $(ARGS)

clean: ## Remove the environment, caches and builds; records are kept
	rm -rf .venv .cache .hypothesis .pytest_cache .coverage .coverage.* htmlcov build dist *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
