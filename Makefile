# make demo        train a classifier; pictures in demo_output/
# make test        everything: both builds, lint, types, documentation, examples
# make benchmark   time the main workloads, against PyTorch if WITH_TORCH=1
#
# Each sets up .venv by itself; Python 3.11 or newer and make must be there. A C compiler makes the
# package faster. WITH_TORCH=1 installs PyTorch too, so that the tests compare with it, and packages
# written for PyTorch, which must compute the same on adjoint.

PYTHON ?= python3
VENV ?= .venv
TORCH ?= torch==2.13.0
WORKERS ?= 2
ARGS ?= # more for pytest

BIN := $(VENV)/bin
SOURCES := $(shell find adjoint -name '*.py' -o -name '*.pyi') setup.py pyproject.toml
CHECKED := adjoint benchmarks examples tests tools setup.py
TEST_STAMPS := $(VENV)/.test $(if $(WITH_TORCH),$(VENV)/.torch $(VENV)/.programs)

# One thread each, so that tests do not fight for the cores; pictures need no screen.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
export JAX_PLATFORMS := cpu
export MPLBACKEND := Agg
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test lint test-compiled test-pure benchmark format clean
.NOTPARALLEL:
.DELETE_ON_ERROR:

demo: $(VENV)/.demo
	$(BIN)/python examples/05_train_digits.py

test: lint test-compiled test-pure
	@echo
	@for build in compiled pure; do echo "$$build:"; tail -n 1 $(VENV)/$$build.log; done

lint: $(VENV)/.test
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/ruff format --check $(CHECKED)
	$(BIN)/mypy
	PYTHONPATH=$(CURDIR) $(BIN)/python -m tools.stubs --check

# pytest's output is shown and kept, its result noted: a pipe to tee would swallow a failure.
define pytest
@rm -f $(VENV)/$(1).passed
{ $(2) $(BIN)/pytest -n $(WORKERS) $(3) $(ARGS) && touch $(VENV)/$(1).passed; } 2>&1 \
	| tee $(VENV)/$(1).log
@test -e $(VENV)/$(1).passed
endef

TELL := import adjoint; print(adjoint.__file__, "compiled:", adjoint.__compiled__)

# The installed package comes before the source tree (append), which holds the tests.
test-compiled: $(TEST_STAMPS)
	$(BIN)/python -P -c '$(TELL)'
	$(call pytest,compiled,ADJOINT_EXPECTED=installed,--import-mode=append)

test-pure: $(TEST_STAMPS)
	PYTHONPATH=$(CURDIR) $(BIN)/python -c '$(TELL)'
	$(call pytest,pure,PYTHONPATH=$(CURDIR) ADJOINT_EXPECTED=source,-m "not slow")

benchmark: $(VENV)/.demo $(if $(WITH_TORCH),$(VENV)/.torch)
	$(BIN)/python benchmarks/run.py

format: $(VENV)/.test
	$(BIN)/ruff check --fix $(CHECKED)
	$(BIN)/ruff format $(CHECKED)

clean:
	rm -rf $(VENV) build dist *.egg-info demo_output .mypy_cache .pytest_cache .ruff_cache

# ---- set-up: a stamp says what is installed, so that nothing is installed twice ----

$(VENV)/.created:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "adjoint needs Python 3.11")'
	$(PYTHON) -m venv $(VENV)
	touch $@

# What an earlier build left behind would end up in the wheel.
$(VENV)/.package: $(VENV)/.created $(SOURCES) README.md LICENSE
	rm -rf build $(VENV)/wheel
	$(BIN)/pip wheel --no-deps --wheel-dir $(VENV)/wheel .
	$(BIN)/pip install --force-reinstall --no-deps $(VENV)/wheel/*.whl
	$(BIN)/pip install $(VENV)/wheel/*.whl
	touch $@

$(VENV)/.demo $(VENV)/.test: $(VENV)/.%: pyproject.toml $(VENV)/.package
	$(BIN)/pip install "$$(echo $(VENV)/wheel/*.whl)[$*]"
	touch $@

$(VENV)/.torch: $(VENV)/.created
	$(BIN)/pip install '$(TORCH)'
	touch $@

# They all require torch, in a version of their own choice: what they need besides is listed too.
$(VENV)/.programs: tests/programs/requirements.txt $(VENV)/.created
	$(BIN)/pip install --no-deps -r $<
	touch $@
