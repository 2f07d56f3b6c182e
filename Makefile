# Needs only Python 3.11+ and make. Everything lands in .venv; `system-deps` alone touches the system.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

.PHONY: help demo serve test lint format bench docs figures screenshots system-deps clean

help:
	@echo "make demo         set up and see discreet do its job on made-up data"
	@echo "make serve        the demo's release as a page at http://127.0.0.1:8000"
	@echo "make test         set up and run every test"
	@echo "make lint         ruff and mypy"
	@echo "make bench        the benchmarks (minutes)"
	@echo "make docs         the documentation as HTML in site/"
	@echo "make figures      the documentation's pictures, the papers' figures (minutes; DISCREET_DATA=folder)"
	@echo "make screenshots  pictures of the page on a phone and on a desktop, with Chromium"
	@echo "make system-deps  (root, Debian) Chromium, Java and PostgreSQL for the tests that need them"

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

$(VENV)/test-ready: $(VENV)/made pyproject.toml constraints.txt
	@echo "Installing discreet and its test tools into $(VENV) (a minute or two, once)"
	@$(PIP) install -c constraints.txt -e '.[plots,serve,spark,dev]'
	@touch $@ $(VENV)/demo-ready $(VENV)/serve-ready

$(VENV)/serve-ready: $(VENV)/demo-ready
	@echo "Installing the service into $(VENV) (a minute, once)"
	@$(PIP) install -c constraints.txt -e '.[plots,serve]'
	@touch $@

demo: $(VENV)/demo-ready
	@$(BIN)/discreet demo

serve: $(VENV)/serve-ready
	@test -f demo-output/films.discreet || $(BIN)/discreet demo
	@$(BIN)/discreet serve demo-output/films.discreet

test: $(VENV)/test-ready
	@echo "Checking style and types, then running the tests"
	@$(BIN)/ruff check --quiet . && $(BIN)/ruff format --quiet --check . && $(BIN)/mypy
	@PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadscope

lint: $(VENV)/test-ready
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

format: $(VENV)/test-ready
	@$(BIN)/ruff check --fix . && $(BIN)/ruff format .

bench: $(VENV)/test-ready
	@$(BIN)/python -m benchmarks

docs: $(VENV)/test-ready
	@$(BIN)/python docs/make_commands.py
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
