# Everything works from a fresh clone: each target makes .venv itself and reuses it afterwards.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CPP := $(wildcard src/usmp/*.h src/usmp/*.cc src/usmp/solver/*.h src/usmp/solver/*.cc \
	tests/fuzz/*.h tests/fuzz/*.cc benchmarks/*.cc)
SOURCES := pyproject.toml CMakeLists.txt $(wildcard src/usmp/*.* src/usmp/solver/*)

.PHONY: demo test lint format clean

demo: $(VENV)/.installed
	$(BIN)/python examples/digits/demo.py

test: $(VENV)/.installed-torch
	$(BIN)/python -m pytest -n auto

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(CPP)

format: $(VENV)/.installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP)

clean:
	rm -rf $(VENV) build

# The package itself is installed editable: Python changes need nothing, C++ changes this rule.
$(VENV)/.installed: $(SOURCES) scripts/install.sh
	@sh scripts/install.sh $(PYTHON) $(VENV)
	@touch $@

# PyTorch is large: only the tests of its importer need it.
$(VENV)/.installed-torch: $(VENV)/.installed
	@echo "installing PyTorch for the tests ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation -e '.[test-torch]'
	@touch $@
