PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
OLDEST := .venv-oldest
# One quick file per package of the library and per dependency whose versions matter.
QUICK_TESTS := @.ci/quick-tests.txt
# What calls kernels, without scikit-learn's checks of estimators, which `make test` runs.
KERNEL_TESTS := tests/engines tests/filters tests/sensors tests/ensembles tests/multilabel tests/combine tests/codes \
	--ignore tests/ensembles/test_common.py --ignore tests/multilabel/test_checks.py \
	--ignore tests/combine/test_common.py
# The same for kernels as plain Python, which is slow: what calls them most directly.
PLAIN_TESTS := tests/engines tests/filters tests/sensors tests/codes/test_search.py tests/combine/test_fixed.py \
	tests/combine/test_rules.py tests/multilabel/data tests/multilabel/learning/test_label_clustering.py \
	tests/multilabel/decisions/test_expected_f1.py
DOCS_READY := $(VENV)/.docs-ready
SITE := docs/_build/html

.PHONY: demo docs test-docs test test-slow test-oldest test-bounds coverage nightly dist lint format bench audit clean help

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 16

demo: $(READY)  ## compare five ensembles on bundled data with noisy labels
	$(BIN)/fuselearn demo

docs: $(DOCS_READY)  ## build the site and run the examples of its gallery
	$(BIN)/fuselearn warmup
	$(BIN)/python -m sphinx -b html -j auto -W --keep-going docs $(SITE)

test-docs: docs  ## open every page of the site in Chromium
	$(BIN)/python -m pytest -m slow tests/docs

test: $(READY)  ## run the tests and the examples in the docstrings
	$(BIN)/python -m pytest -n auto

test-slow: $(READY)  ## run the long tests too
	$(BIN)/python -m pytest -n auto -m "slow or not slow"

test-oldest: $(OLDEST)/.ready  ## run some tests against the oldest supported versions
	PYTHONPATH=src NUMBA_CACHE_DIR=$(CURDIR)/$(OLDEST)/kernels $(OLDEST)/bin/python -m pytest -n auto -p no:cacheprovider $(QUICK_TESTS)

test-bounds: $(READY)  ## run the tests of kernels with a check of every index
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/.kernels/bounds $(BIN)/python -m pytest -n auto $(KERNEL_TESTS)

coverage: $(READY)  ## count the lines that tests reach, those of kernels without the compiler
	rm -rf .coverage .kernels/coverage
	NUMBA_DISABLE_JIT=1 PYTHONPATH=tests $(BIN)/python -m pytest -n auto -p interpreted --cov --cov-report= $(PLAIN_TESTS)
	NUMBA_CACHE_DIR=$(CURDIR)/.kernels/coverage $(BIN)/python -m pytest -n auto --cov --cov-append --cov-report=term:skip-covered --cov-fail-under=95

nightly: test-slow test-bounds coverage  ## what takes too long for every change

dist: $(READY)  ## build the distributions, and test each in an empty environment
	rm -rf dist
	$(BIN)/python -m pip install --quiet build twine
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m twine check --strict dist/*
	for built in dist/*.tar.gz dist/*.whl; do $(BIN)/python .ci/test_distribution.py $$built || exit 1; done

lint: $(READY)  ## style, types and the architecture contract
	$(BIN)/ruff check src tests benchmarks docs examples .ci
	$(BIN)/ruff format --check src tests benchmarks docs examples .ci
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)  ## rewrite the code in the project's style
	$(BIN)/ruff check --fix src tests benchmarks docs examples .ci
	$(BIN)/ruff format src tests benchmarks docs examples .ci

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

$(DOCS_READY): $(READY)
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $(DOCS_READY)

$(OLDEST)/.ready: pyproject.toml .ci/oldest.txt
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --constraint .ci/oldest.txt '.[test]'
	$(OLDEST)/bin/python -m pip uninstall --quiet --yes fuselearn  # the tests are of the sources, not of a copy
	touch $(OLDEST)/.ready

clean:  ## remove the environment and everything generated
	rm -rf $(VENV) $(OLDEST) docs/_build docs/api docs/gallery .pytest_cache .mypy_cache .ruff_cache .hypothesis .kernels .coverage dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
