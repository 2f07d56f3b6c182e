# Needs only Python 3.11+ and make. Everything lands in .venv; `system-deps` alone touches the system.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Checks the types in the page's scripts, where npm can install it.
TYPESCRIPT := 5.9.3
# One thread of linear algebra per process: there are as many processes as cores.
TESTS := PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 $(BIN)/python -m
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

.PHONY: help demo serve test quick coverage lint format hooks bench docs figures screenshots system-deps clean

help:
	@echo "make demo         set up and see discreet do its job on made-up data"
	@echo "make serve        the demo's release as a page at http://127.0.0.1:8000"
	@echo "make test         set up and run every test (CPU seconds per file: make test ARGS=--cpu)"
	@echo "make quick        a lean set-up (no Spark, browser or service), and the quick tests"
	@echo "make coverage     every test with coverage, as HTML in build/coverage"
	@echo "make lint         ruff, mypy, and tsc for the page's scripts"
	@echo "make hooks        check style and types before every commit, by pre-commit"
	@echo "make bench        the benchmarks (minutes)"
	@echo "make docs         the documentation as HTML in site/"
	@echo "make figures      the documentation's pictures, the papers' figures (minutes; DISCREET_DATA=folder)"
	@echo "make screenshots  pictures of the page on a phone and on a desktop, with Chromium"
	@echo "make system-deps  (root, Debian) Chromium, Java, PostgreSQL and Node for the tests that need them"

$(VENV)/made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "discreet needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.12"; exit 1; }
	@echo "Creating $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/demo-ready: $(VENV)/made pyproject.toml constraints.txt
	@echo "Installing discreet into $(VENV) (a minute or two, once)"
	@$(PIP) install -c constraints.txt -e '.[plots]'
	@touch $@

# Modules are compiled when they are first imported, and most of these packages' never are.
$(VENV)/test-ready: $(VENV)/made pyproject.toml constraints.txt
	@echo "Installing discreet and its test tools into $(VENV) (a minute or two, once)"
	@$(PIP) install --no-compile -c constraints.txt -e '.[plots,serve,spark,dev]'
	@if command -v npm >/dev/null; then \
	  npm install --silent --no-audit --no-fund --no-save --fetch-retries 0 --fetch-timeout 30000 --prefix $(VENV) typescript@$(TYPESCRIPT) >/dev/null \
	    || echo "TypeScript could not be installed: the types of the page's scripts are not checked"; fi
	@touch $@ $(VENV)/demo-ready $(VENV)/serve-ready $(VENV)/quick-ready

$(VENV)/quick-ready: $(VENV)/made pyproject.toml constraints.txt
	@echo "Installing discreet and the parts that quick tests need into $(VENV) (a minute, once)"
	@$(PIP) install -c constraints.txt -e '.[plots,test]'
	@touch $@ $(VENV)/demo-ready

$(VENV)/serve-ready: $(VENV)/demo-ready
	@echo "Installing the service into $(VENV) (a minute, once)"
	@$(PIP) install -c constraints.txt -e '.[plots,serve]'
	@touch $@

demo: $(VENV)/demo-ready
	@$(BIN)/discreet demo

serve: $(VENV)/serve-ready
	@test -f demo-output/films.discreet || $(BIN)/discreet demo
	@$(BIN)/discreet serve demo-output/films.discreet

test: lint
	@$(TESTS) pytest -n 2 $(ARGS)

quick: $(VENV)/quick-ready
	@$(TESTS) pytest -n 2 -m 'not slow' $(ARGS)

coverage: $(VENV)/test-ready
	@$(BIN)/python -c 'import coverage' 2>/dev/null || $(PIP) install -c constraints.txt coverage
	@$(TESTS) coverage run -m pytest -n 2 $(ARGS)
	@$(BIN)/coverage combine --quiet && $(BIN)/coverage html && $(BIN)/coverage report --skip-covered --sort=cover

lint: $(VENV)/test-ready
	@echo "Checking style and types"
	@$(BIN)/ruff check --quiet . && $(BIN)/ruff format --quiet --check . && $(BIN)/mypy
	@if [ -x $(VENV)/node_modules/.bin/tsc ]; then for of in tsconfig worker.tsconfig; do $(VENV)/node_modules/.bin/tsc -p tests/web/$$of.json || exit 1; done; \
	  else echo "Types of the page's scripts are not checked: TypeScript needs npm ('make system-deps')"; fi

hooks: $(VENV)/test-ready
	@$(BIN)/python -c 'import pre_commit' 2>/dev/null || $(PIP) install -c constraints.txt pre-commit
	@$(BIN)/pre-commit install

format: $(VENV)/test-ready
	@$(BIN)/ruff check --fix . && $(BIN)/ruff format .

bench: $(VENV)/test-ready
	@$(BIN)/python -m benchmarks

docs: $(VENV)/test-ready
	@$(BIN)/python docs/make_commands.py && $(BIN)/python docs/make_rooms.py && $(BIN)/python docs/make_python.py
	@$(BIN)/mkdocs build --strict --quiet
	@echo "The documentation is in site/index.html"

figures: $(VENV)/test-ready
	@$(BIN)/python docs/make_figures.py && echo 'The pictures are in docs/figures'
	@$(BIN)/python -m papers reproduce all $(if $(DISCREET_DATA),--data '$(DISCREET_DATA)') -o build/figures --overwrite && echo "The papers' figures are in build/figures"

screenshots: $(VENV)/test-ready
	@$(BIN)/python docs/make_screenshots.py && echo 'The pictures are in docs/figures'

system-deps:
	@sh .ci/system-deps

clean:
	rm -rf $(VENV) build dist site .mypy_cache .pytest_cache .ruff_cache
