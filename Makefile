PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-slow lint format bench audit clean-kernels clean help

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 16

demo: $(READY)  ## compare four ensembles on bundled data with noisy labels
	$(BIN)/fuselearn demo

test: $(READY)  ## run the tests and the examples in the docstrings
	$(BIN)/python -m pytest -n auto

test-slow: $(READY)  ## run the long tests too
	$(BIN)/python -m pytest -n auto -m "slow or not slow"

lint: $(READY)  ## style, types and the architecture contract
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)  ## rewrite the code in the project's style
	$(BIN)/ruff check --fix src tests benchmarks
	$(BIN)/ruff format src tests benchmarks

bench: $(READY)  ## measure every claim about speed and memory
	$(BIN)/python -m benchmarks

audit: $(READY)  ## look for known vulnerabilities in what is installed
	$(BIN)/python -m pip install --quiet pip-audit
	$(BIN)/pip-audit --skip-editable

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(f"fuselearn needs Python 3.11 or newer, this is {v[0]}.{v[1]}" if v < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $(READY)

clean-kernels:  ## forget compiled kernels, after an edit of one that others call
	find src -name '*.nb[ic]' -delete

clean:  ## remove the environment and everything generated
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
