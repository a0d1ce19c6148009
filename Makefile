# Everything runs in .venv, which `make install` makes; the other targets make it when it is missing.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python

.PHONY: install demo test lint unit bench schemas clean

install: $(VENV)/installed

$(VENV)/installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --editable '.[dev]'
	touch $@

demo: install
	$(RUN) -m demo

test: lint unit

lint: install
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

unit: install
	$(RUN) -m pytest

bench: install
	$(RUN) -m bench

schemas: install
	$(RUN) -m workspace_server.schema_files schemas

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
