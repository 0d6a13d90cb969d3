# Two commands do everything: `make run` and `make test`. Python 3.11 or newer is all they need.
CONFIG ?= configs/demo.yaml
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := test
.PHONY: run audit verify check test models lint types floors units coverage docs bench clean

run: $(VENV)/ready models fixtures/clips/made ## prepare the study CONFIG (the demo by default) and say where the report is
	$(BIN)/prep run $(CONFIG)

audit: $(VENV)/ready models fixtures/clips/made ## say how well each cue tells the conditions of CONFIG apart
	$(BIN)/prep audit $(CONFIG)

verify: $(VENV)/ready ## hash and decode again what the run of CONFIG left
	$(BIN)/prep verify $(CONFIG)

check: $(VENV)/ready fixtures/clips/made ## list every problem of CONFIG, and the plan
	$(BIN)/prep check $(CONFIG)

test: lint types floors units ## everything that CI asks

lint: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/ready
	$(BIN)/mypy

floors: $(VENV)/ready
	$(BIN)/lint-imports

models: $(VENV)/ready ## get the weights that some checks and stages need, where they are not here yet
	$(BIN)/prep models fetch > $(VENV)/models.txt

units: $(VENV)/ready models
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2

coverage: $(VENV)/ready
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -q
	$(BIN)/coverage combine -q
	$(BIN)/coverage report

docs: $(VENV)/ready ## write the tables of the docs from the classes
	$(BIN)/python docs/make.py

bench: $(VENV)/ready
	for script in startup separability_power null_halves audit_cost screen_cost reference_eq report_page_cost; do $(BIN)/python bench/$$script.py; done

clean:
	rm -rf $(VENV) fixtures/clips fixtures/out .prep-cache

# The constraints file pins every version, so that two installs are the same.
$(VENV)/ready: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "prep needs Python 3.11 or newer: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install -q -c constraints.txt --group dev -e .
	touch $@

fixtures/clips/made: fixtures/make.py $(VENV)/ready
	$(BIN)/python fixtures/make.py
	touch $@
