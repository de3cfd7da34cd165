# Newcomers need only `make run`, `make check` and `make test`. Each target creates the environment that it needs.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
ifneq ($(wildcard ../shared/data),)
export LIKEWISE_DATA ?= $(abspath ../shared/data)
endif

.PHONY: help run studio check test test-all test-deep test-oldest test-versions bench docs lint types format reproduce pictures clean

help:  ## list the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

$(VENV)/.made: Makefile
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "likewise needs Python 3.11 or newer; set PYTHON=/path/to/python" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	@touch $@

$(VENV)/.run: $(VENV)/.made pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[plot]"
	@touch $@

$(VENV)/.studio: $(VENV)/.made pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[plot,studio]"
	@touch $@ $(VENV)/.run

$(VENV)/.dev: $(VENV)/.made pyproject.toml
	$(BIN)/python -m pip install --quiet --group dev --editable ".[plot,studio,postgres]"
	@touch $@ $(VENV)/.run $(VENV)/.studio

$(VENV)/.docs: $(VENV)/.made pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	@touch $@

run: $(VENV)/.run  ## cluster a generated data set with a growing number of hints
	$(BIN)/likewise demo

studio: $(VENV)/.studio  ## answer questions about drawn birds in a browser
	$(BIN)/likewise studio --sample

# Several processes share the cores: threads that spin while waiting would slow each other down.
# Without bytecode each process that a test starts would compile the package again, and pytest the tests.
CALM := OMP_WAIT_POLICY=PASSIVE OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=
# Neighbouring tests run in the same process, which then makes their clusters, browsers and fits only once.
# A third one uses two cores while others wait for a browser, a server or a cluster.
WORKERS := -n 3 --dist worksteal

# What most changes touch: hints, kernels, one family, scores, asking, the rules for all files. No browser, no
# cluster, no PostgreSQL, no other processes.
CHECKED := $(addprefix tests/,supervision hierarchy kernels kmeans evaluation oracles/test_oracles.py mixture/test_twins.py \
	spectral/test_family.py active/test_interview.py active/test_questions.py active/test_state.py studio/test_project.py \
	test_base.py backends/test_rows.py test_seeding.py test_exceptions.py test_house.py test_names.py test_reasons.py)

check: $(VENV)/.dev  ## run the tests of what matters most, with few examples (less than a minute on two cores)
	$(CALM) HYPOTHESIS_PROFILE=dev $(BIN)/python -m pytest -q $(WORKERS) -m "not slow and not long" $(CHECKED)

test: $(VENV)/.dev  ## run the tests except slow ones (some minutes on two cores)
	$(CALM) HYPOTHESIS_PROFILE=ci $(BIN)/python -m pytest -q $(WORKERS) -m "not slow"

test-all: $(VENV)/.dev  ## run all tests, including slow ones
	$(CALM) HYPOTHESIS_PROFILE=ci $(BIN)/python -m pytest -q $(WORKERS)

test-deep: $(VENV)/.dev  ## run the tests of properties with ten times as many examples
	$(CALM) HYPOTHESIS_PROFILE=deep $(BIN)/python -m pytest -q $(WORKERS) -m "not slow" tests

test-oldest:  ## run part of the tests with the lowest versions that pyproject.toml allows
	$(PYTHON) tools/versions.py --oldest --venv $(VENV)

test-versions:  ## run part of the tests with each supported Python that is installed
	$(PYTHON) tools/versions.py --venv $(VENV)

bench: $(VENV)/.dev  ## measure speed, and compare it with other packages
	$(BIN)/python -m pip install --quiet --editable ".[bench]"
	for name in kmeans embeddings growth mixture spectral discriminative metric multilabel studio scale; do $(BIN)/python benchmarks/$$name.py || exit 1; done

reproduce: $(VENV)/.dev  ## reproduce the figures of the papers
	for paper in mpck_means gm_pr bag_constraints discriminative bayesian_active node_uncertainty label_hierarchy; do $(BIN)/python reproductions/$$paper/run.py || exit 1; done
	$(BIN)/python reproductions/verify.py

docs: $(VENV)/.docs  ## build the documentation in docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

pictures: $(VENV)/.run  ## create the pictures of the README and the documentation
	$(BIN)/python examples/readme_picture.py
	$(BIN)/python examples/two_moons.py
	$(BIN)/python examples/pages_of_digits.py

lint: $(VENV)/.dev  ## check style, types and docstrings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/check_docstrings.py
	@if command -v npm >/dev/null && $(MAKE) --no-print-directory tools/node_modules/.made; \
		then $(MAKE) --no-print-directory types; \
		else echo "skipped the types of the studio's pages and of public names: npm or its packages are missing"; fi

tools/node_modules/.made: tools/package.json
	npm install --prefix tools --silent --no-audit --no-fund --no-package-lock --fetch-timeout=30000 --fetch-retries=1
	@touch $@

types: $(VENV)/.dev tools/node_modules/.made  ## check the types of the studio's pages and of public names (needs npm)
	tools/node_modules/.bin/tsc -p tools/tsconfig.json
	$(BIN)/python tools/check_types.py tools/node_modules/.bin/pyright

format: $(VENV)/.dev  ## format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## delete everything that the other commands created
	rm -rf $(VENV) $(VENV)-oldest $(VENV)-3.* tools/node_modules docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis
