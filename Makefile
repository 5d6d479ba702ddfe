# Everything works from a fresh clone: each target makes .venv itself and reuses it afterwards.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CPP := $(wildcard src/usmp/*.h src/usmp/*.cc src/usmp_solver/*.h src/usmp_solver/*.cc \
	src/usmp_solver/*/*.h src/usmp_solver/*/*.cc python/usmp/codegen/files/*.c \
	python/usmp/codegen/files/*/*.[ch] \
	python/usmp/device/files/*.[ch] python/usmp/aot/kernel_checks/files/*.[ch] \
	tests/fuzz/*.h tests/fuzz/*.cc benchmarks/*.cc)
SOURCES := setup.py pyproject.toml CMakeLists.txt $(wildcard src/usmp/*.* src/usmp_solver/*.*) \
	$(filter-out src/usmp_solver/tests/%,$(wildcard src/usmp_solver/*/*))

.PHONY: demo test test-unit test-long docs lint format clean
# Tests start many processes: none of them should compile the Python of this package anew.
unexport PYTHONDONTWRITEBYTECODE
# Two installs into one environment at a time would disturb each other.
.NOTPARALLEL:

demo: $(VENV)/.installed
	$(BIN)/python examples/digits/demo.py

# Draws which of the slow tests run, and which cases; SEED=1 to SEED=3 run the other slow ones.
SEED ?= 0
test: $(VENV)/.installed-test
	$(BIN)/python -m pytest -m "" --slow-every=4 --sample-seed=$(SEED) -n auto --dist worksteal \
		--costs=20

# All tests, catalogs, boards, models and random cases, in random order.
test-long: $(VENV)/.installed-test
	$(BIN)/python -m pytest -m "" --long --sample-seed=$(SEED) -p randomly --randomly-seed=$(SEED) \
		-n auto --dist worksteal --costs=100

# What is quick and needs no compiler, no emulator and no public models.
test-unit: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n auto --dist worksteal

# The site, in build/site; links and anchors are checked.
docs: $(VENV)/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

lint: $(VENV)/.installed-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/clang-format --dry-run --Werror $(CPP)

format: $(VENV)/.installed-lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP)

clean:
	rm -rf $(VENV) build

# The package itself is installed editable: Python changes need nothing, C++ changes this rule.
$(VENV)/.installed: $(SOURCES) scripts/install.sh
	@sh scripts/install.sh $(PYTHON) $(VENV) demo
	@touch $@

# The tools of developers, and for tests other runtimes to compare with and PyTorch, are large.
$(VENV)/.installed-lint $(VENV)/.installed-test $(VENV)/.installed-docs: $(VENV)/.installed-%: $(VENV)/.installed
	@sh scripts/install.sh $(PYTHON) $(VENV) $*
	@touch $@
