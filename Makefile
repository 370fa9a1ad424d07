PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TOOLS := $(VENV)/.tools
BUILT := $(VENV)/.built
INSTALLED := $(VENV)/.installed
TESTABLE := $(VENV)/.testable
READY := $(VENV)/.ready
DOCS_READY := $(VENV)/.docs-ready
OLDEST := .venv-oldest
CORE := CMakeLists.txt $(shell find cpp -name '*.[ch]pp')
FORMATTED := src tests benchmarks reproduction docs examples .ci
# One quick file per package of the library and per dependency whose versions matter.
QUICK_TESTS := @.ci/quick-tests.txt
# What calls the compiled core.
CORE_TESTS := tests/core tests/fusion tests/learners tests/ensembles
SITE := docs/_build/html

# The library with a core of its own: $(call build-core,NAME,OPTIONS) puts it into build/NAME/package. Programs that run
# with $(call with-core,NAME) import it instead of the sources, whose redirection the first variable switches off.
define build-core
	$(BIN)/cmake -S . -B build/$(1) -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja \
		-DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python $(2) >build/$(1).log || { cat build/$(1).log; exit 1; }
	$(BIN)/cmake --build build/$(1)
	rm -rf build/$(1)/package
	cp -rp src build/$(1)/package
	rm -f build/$(1)/package/fuselearn/_core*.so
	$(BIN)/cmake --install build/$(1) --prefix build/$(1)/package >>build/$(1).log
endef
with-core = SKBUILD_EDITABLE_SKIP="$$(printf '%s:' $(CURDIR)/build/editable/*)" PYTHONPATH=$(CURDIR)/build/$(1)/package

.PHONY: demo docs pages test-docs test test-slow test-oldest test-sanitize coverage nightly dist lint stubs format bench audit \
	build debug profile clean help

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 16

demo: $(INSTALLED) $(BUILT)  ## compare five ensembles on tables with wrong labels, and find these labels
	$(BIN)/fuselearn demo

build: $(BUILT)  ## compile what has changed in the core

debug: $(TOOLS)  ## build the core for a debugger, in build/debug/package
	$(call build-core,debug,-DCMAKE_BUILD_TYPE=Debug)

profile: $(TOOLS)  ## build the core for a profiler, in build/profile/package
	$(call build-core,profile,-DCMAKE_BUILD_TYPE=RelWithDebInfo)

docs: $(DOCS_READY) $(BUILT)  ## build the site and run the examples of its gallery
	$(BIN)/python -m sphinx -b html -j auto -W --keep-going docs $(SITE)

pages: $(READY) $(BUILT)  ## write the pages of results, and README's part, from the files in docs/reproduction
	$(BIN)/python docs/quoted.py

test-docs: docs  ## open every page of the site in Chromium
	$(BIN)/python -m pytest -m slow tests/docs

test: $(TESTABLE) $(BUILT)  ## run the tests and the examples in the docstrings
	$(BIN)/python -m pytest -n auto --dist worksteal

test-slow: $(TESTABLE) $(BUILT)  ## run the long tests too
	$(BIN)/python -m pytest -n auto --dist worksteal -m "slow or not slow"

test-oldest: $(OLDEST)/.ready $(BUILT)  ## run some tests against the oldest supported versions
	PYTHONPATH=src $(OLDEST)/bin/python -m pytest -n auto -p no:cacheprovider $(QUICK_TESTS)

test-sanitize: $(READY)  ## run the tests of the core with checks of every access to memory
	$(call build-core,sanitize,-DFUSELEARN_SANITIZE=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo)
	$(call with-core,sanitize) PYTHONMALLOC=malloc \
		ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=4000 \
		UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
		LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libstdc++.so)" \
		$(BIN)/python -m pytest -n auto -p no:cacheprovider $(CORE_TESTS)

coverage: $(READY)  ## count the lines of Python and of C++ that tests reach
	$(call build-core,coverage,-DFUSELEARN_COVERAGE=ON)
	rm -rf .coverage
	find build/coverage -name '*.gcda' -delete
	$(call with-core,coverage) $(BIN)/python -m pytest -n auto tests --cov=fuselearn \
		--cov-report=term:skip-covered --cov-fail-under=95
	$(BIN)/gcovr --root . --filter cpp/ --merge-lines --exclude-throw-branches --gcov-executable gcov \
		--fail-under-line 95 build/coverage

nightly: test-slow test-sanitize coverage  ## what takes too long for every change

dist: $(READY)  ## build the distributions, and test each in an empty environment
	rm -rf dist
	$(BIN)/python -m pip install --quiet abi3audit auditwheel build twine
	$(BIN)/python -m build --outdir dist
	$(BIN)/python .ci/test_distribution.py dist

lint: $(READY) $(BUILT)  ## style, types, spelling, workflow files and the architecture contract
	$(BIN)/ruff check $(FORMATTED)
	$(BIN)/ruff format --check $(FORMATTED)
	$(BIN)/python .ci/write_stubs.py --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/clang-format --dry-run -Werror $(filter cpp/%,$(CORE))
	ls cpp/bindings/*.cpp | xargs -n 1 -P 2 $(BIN)/clang-tidy --quiet -p $$(ls -dt build/editable/* | head -n 1)

stubs: $(BUILT)  ## write the types of the core for mypy, as its bindings declare them
	$(BIN)/python .ci/write_stubs.py

format: $(READY)  ## rewrite the code in the project's style
	$(BIN)/ruff check --fix $(FORMATTED)
	$(BIN)/ruff format $(FORMATTED)
	$(BIN)/clang-format -i $(filter cpp/%,$(CORE))

bench: $(READY) $(BUILT)  ## measure every claim about speed and memory
	$(BIN)/python -m benchmarks

audit: $(READY)  ## look for known vulnerabilities in what is installed
	$(BIN)/python -m pip install --quiet pip-audit
	$(BIN)/pip-audit --skip-editable

# What builds the core stays in the environment, so that a change compiles a few files only.
$(TOOLS): pyproject.toml
	$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(f"fuselearn needs Python 3.11 or newer, this is {v[0]}.{v[1]}" if v < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip cmake ninja \
		$$($(PYTHON) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])')
	touch $(TOOLS)

$(BUILT): $(TOOLS) $(CORE)
	$(BIN)/python -m pip install --quiet --no-build-isolation --no-deps --editable .
	touch $(BUILT)

# The library itself is installed already: these add what an extra of it needs, and do not build it again.
$(INSTALLED): $(TOOLS) | $(BUILT)
	$(BIN)/python -m pip install --quiet 'fuselearn[cli]'
	touch $(INSTALLED)

$(TESTABLE): $(TOOLS) | $(BUILT)
	$(BIN)/python -m pip install --quiet 'fuselearn[test]'
	touch $(TESTABLE)

$(READY): $(TOOLS) | $(BUILT)
	$(BIN)/python -m pip install --quiet 'fuselearn[dev]'
	touch $(READY) $(TESTABLE)

$(DOCS_READY): $(READY)
	$(BIN)/python -m pip install --quiet 'fuselearn[docs]'
	touch $(DOCS_READY)

$(OLDEST)/.ready: pyproject.toml .ci/oldest.txt
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --requirement .ci/oldest.txt
	touch $(OLDEST)/.ready

clean:  ## remove the environment and everything generated
	rm -rf $(VENV) $(OLDEST) docs/_build docs/api docs/gallery .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage dist build
	rm -f src/fuselearn/_core*.so
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
