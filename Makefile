# make demo        train a classifier; pictures in demo_output/
# make test        lint, types, and the suite, which runs the documentation and the examples too
# make soak        inject 200,000 faults into many graphs, and run what CI runs at a smaller size
# make docs        the site, with a reference of every public name; it begins at site/index.html
# make benchmark   time the main workloads, against PyTorch if WITH_TORCH=1
#
# Each sets up .venv by itself; Python 3.11 or newer and make must be there. A C compiler makes the
# package faster. WITH_TORCH=1 installs PyTorch too, so that the tests compare with it, and packages
# written for PyTorch, which must compute the same on adjoint. The suite runs on the package as it
# is installed; the sources repeat what can differ there. EVERYTHING=1, as in CI, runs slow tests
# too, and on the sources all that compares compiled code with PyTorch.

PYTHON ?= python3
VENV ?= .venv
TORCH ?= torch==2.13.0
WORKERS ?= 2
ARGS ?= # more for pytest, or for the benchmark

BIN := $(VENV)/bin
SOURCES := $(shell find adjoint -name '*.py' -o -name '*.pyi') setup.py $(wildcard tools/mypyc_*.py) pyproject.toml
CHECKED := adjoint benchmarks docs examples tests tools setup.py
TEST_STAMPS := $(VENV)/.test $(if $(WITH_TORCH),$(VENV)/.torch $(VENV)/.programs)

# Compiling changes classes and calls, so the builds can differ in what these look at: autograd,
# dispatch, views, subclasses, pickles, errors and signatures. Most else is interpreted in both.
DIFFERING := tests/autograd tests/call tests/faults tests/nn $(addprefix tests/test_,$(addsuffix .py,build custom_ops dtypes error_chains \
	elementwise_errors explaining facts interop library ops out packaging pickling printing \
	reduction_errors reference refusals subclass tiny typing views)) \
	tests/backends/test_workers.py tests/utils/test_checkpoint.py

# And what calls compiled code in many more ways, mostly beside PyTorch. Not what is written in
# neither: backends, distributions, files, fuzzed texts, the compiler for XLA, pages, examples.
COMPARING := tests/amp tests/optim tests/parity tests/compat/nn tests/compat/utils \
	$(addprefix tests/compat/test_,$(addsuffix .py,amp aten attributes_asked checkpoint_wrapper \
	functorch fx legacy library masked_tensor other_parts overrides private)) \
	$(filter-out %_backends.py %_jax.py,$(wildcard tests/transforms/test_*.py)) \
	$(addprefix tests/test_,$(addsuffix .py,creation layers linear opcheck serialization settings))
REPEATED ?= $(DIFFERING) $(if $(EVERYTHING),$(COMPARING))

# One thread each, so that tests do not fight for the cores; pictures need no screen.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
export JAX_PLATFORMS := cpu
export MPLBACKEND := Agg
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test lint test-compiled test-pure test-long soak docs benchmark format clean
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

# pytest's output is shown and kept, its result noted: a pipe to tee would swallow a failure. A
# worker that has nothing left takes from the other: the slowest tests lie side by side.
define pytest
@rm -f $(VENV)/$(1).passed
{ $(2) $(BIN)/pytest -n $(WORKERS) --dist worksteal $(3) $(ARGS) && touch $(VENV)/$(1).passed; } 2>&1 \
	| tee $(VENV)/$(1).log
@test -e $(VENV)/$(1).passed
endef

TELL := import adjoint; print(adjoint.__file__, "compiled:", adjoint.__compiled__)

# The installed package comes before the source tree (append), which holds the tests.
test-compiled: $(TEST_STAMPS)
	$(BIN)/python -P -c '$(TELL)'
	$(call pytest,compiled,ADJOINT_EXPECTED=installed,--import-mode=append -m "not long$(if $(EVERYTHING),, and not slow)")

test-pure: $(TEST_STAMPS)
	PYTHONPATH=$(CURDIR) $(BIN)/python -c '$(TELL)'
	$(call pytest,pure,PYTHONPATH=$(CURDIR) ADJOINT_EXPECTED=source,-m "not long and not slow" \
		$(REPEATED))

# Tests of which CI runs a sister that is smaller; with SOURCE=1 on the sources.
test-long: $(TEST_STAMPS)
	$(call pytest,long,$(if $(SOURCE),PYTHONPATH=$(CURDIR) ADJOINT_EXPECTED=source,ADJOINT_EXPECTED=installed),\
		$(if $(SOURCE),,--import-mode=append) -m long)

# The installed package, or with SOURCE=1 the sources; LIBRARY=torch: the same faults in PyTorch.
# With arguments of its own it is a part of the sweep, and nothing else.
RUN_SOAK := import sys; sys.path.append("$(CURDIR)"); from tests.faults.soak import main; sys.exit(main())

soak: $(VENV)/.test $(if $(filter torch,$(LIBRARY)),$(VENV)/.torch)
	$(if $(SOURCE),PYTHONPATH=$(CURDIR)) $(BIN)/python -P -c '$(RUN_SOAK)' \
		--library $(or $(LIBRARY),adjoint) --processes $(WORKERS) $(ARGS)
	$(if $(LIBRARY)$(ARGS),,$(MAKE) test-long)

# Of the sources, because compiled functions have no signatures. With --quiet, --strict sees no
# warnings.
docs: $(VENV)/.docs
	PYTHONPATH=$(CURDIR) $(BIN)/python -P -m tools.site_pages build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --config-file build/site/mkdocs.yml
	@echo "site/index.html; its search needs a server: python3 -m http.server --directory site"

benchmark: $(VENV)/.demo $(if $(WITH_TORCH),$(VENV)/.torch)
	$(BIN)/python benchmarks/run.py $(ARGS)

format: $(VENV)/.test
	$(BIN)/ruff check --fix $(CHECKED)
	$(BIN)/ruff format $(CHECKED)

clean:
	rm -rf $(VENV) build dist site *.egg-info demo_output .mypy_cache .pytest_cache .ruff_cache

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

$(VENV)/.demo $(VENV)/.test $(VENV)/.docs: $(VENV)/.%: pyproject.toml $(VENV)/.package
	$(BIN)/pip install "$$(echo $(VENV)/wheel/*.whl)[$*]"
	touch $@

# PyTorch's own database of operators imports expecttest.
$(VENV)/.torch: $(VENV)/.created
	$(BIN)/pip install '$(TORCH)' expecttest==0.3.0
	touch $@

# They all require torch, in a version of their own choice: what they need besides is listed too.
$(VENV)/.programs: tests/programs/requirements.txt $(VENV)/.created
	$(BIN)/pip install --no-deps -r $<
	touch $@
