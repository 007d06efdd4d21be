# Needs only make and a Python >= 3.11; the rest is installed into .venv.
# PYTHON=... chooses the interpreter .venv is made with (make clean first, to change it).

PYTHON ?=
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check -q

new_enough := import sys; sys.exit(sys.version_info < (3, 11))

# Settings of the caller's shell that would lead Python or pip out of .venv.
unexport PYTHONPATH PYTHONHOME PIP_USER PIP_TARGET PIP_PREFIX

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test coverage bench lint format clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' Makefile
	@echo 'PYTHON=python3.12 (say) chooses the interpreter; any >= 3.11 will do.'

demo: $(VENV)/.demo ## a first look: runs examples/first_look.py, results in out/
	@$(BIN)/python examples/first_look.py --out out

test: $(VENV)/.test ## all checks: ruff, mypy, import-linter, pytest
	@echo '== ruff check' && $(BIN)/ruff check .
	@echo '== ruff format --check' && $(BIN)/ruff format --check .
	@echo '== mypy' && $(BIN)/python -m mypy
	@echo '== lint-imports' && $(BIN)/lint-imports
	@echo '== pytest' && $(BIN)/python -m pytest

coverage: $(VENV)/.test ## the tests once more, with what they cover: twice the minutes
	@$(BIN)/python -m pytest --cov --cov-report=term

bench: $(VENV)/.bench ## qdot beside Pinocchio in C++ (the first run builds it: minutes), ratios as docs/performance.md has them
	@$(BIN)/python benchmarks/dynamics.py
	@$(BIN)/python benchmarks/calls.py
	@$(BIN)/python benchmarks/bodies.py
	@$(BIN)/python benchmarks/loading.py
	@$(BIN)/python benchmarks/christoffel.py
	@$(BIN)/python benchmarks/simulation.py
	@$(BIN)/python benchmarks/closed_loops.py
	@$(BIN)/python benchmarks/chains.py
	@$(BIN)/python benchmarks/contact.py

lint: $(VENV)/.test ## the checks that run no code: ruff, mypy, import-linter
	@echo '== ruff check' && $(BIN)/ruff check .
	@echo '== ruff format --check' && $(BIN)/ruff format --check .
	@echo '== mypy' && $(BIN)/python -m mypy
	@echo '== lint-imports' && $(BIN)/lint-imports

format: $(VENV)/.test ## format the code, and fix what ruff can fix
	@$(BIN)/ruff check --fix-only .
	@$(BIN)/ruff format .

clean: ## remove .venv, out/ and all caches
	rm -rf $(VENV) out build dist .bench .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# Stamps: each is made anew when pyproject.toml changes, and they vanish with .venv.

$(VENV)/.made:
	@python='$(PYTHON)'; \
	if [ -z "$$python" ]; then \
	    for candidate in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	        if "$$candidate" -c '$(new_enough)' >/dev/null 2>&1; then python=$$candidate; break; fi; \
	    done; \
	fi; \
	if [ -z "$$python" ]; then \
	    echo "qdot needs Python 3.11 or newer; python3 here is: $$(python3 --version 2>&1 || true)"; \
	    echo 'Install a newer one, or name it: make PYTHON=python3.12 demo'; \
	    exit 1; \
	fi; \
	if ! "$$python" -c '$(new_enough)'; then \
	    echo "qdot needs Python 3.11 or newer; PYTHON=$$python is: $$("$$python" --version 2>&1 || true)"; \
	    exit 1; \
	fi; \
	if ! "$$python" -c 'import ensurepip, venv' 2>/dev/null; then \
	    version=$$("$$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
	    echo "$$python cannot make a virtual environment: its module venv or ensurepip is missing."; \
	    echo "On Debian and Ubuntu: sudo apt install python$$version-venv"; \
	    exit 1; \
	fi; \
	echo "== $(VENV) with $$("$$python" --version)"; \
	"$$python" -m venv --clear $(VENV)
	@touch $@

$(VENV)/.demo: $(VENV)/.made pyproject.toml
	@echo '== install qdot[plots]'
	@$(PIP) install -e '.[plots]'
	@touch $@

# The test packages include the demo's, hence both stamps.
$(VENV)/.test: $(VENV)/.made pyproject.toml
	@echo '== install qdot[test]'
	@$(PIP) install -e '.[test]'
	@touch $(VENV)/.demo $@

$(VENV)/.bench: $(VENV)/.test
	@echo '== install qdot[bench]'
	@$(PIP) install -e '.[bench]'
	@touch $@
