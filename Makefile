# Rostrum. `make run` starts it, `make test` tests it, `make help` lists the rest.
PYTHON ?= python3
HOST ?= 127.0.0.1
PORT ?= 8000
WORKERS ?= 2
REDIS_SERVER ?= redis-server
BIN := .venv/bin

.PHONY: help run test test-postgresql test-redis test-cluster test-faults fuzz install lint format types bench screenshots messages clean
.DEFAULT_GOAL := help

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: .venv/run.stamp ## start Rostrum at http://127.0.0.1:8000 (or HOST and PORT)
	@exec $(BIN)/python manage.py serve --host $(HOST) --port $(PORT)

test: .venv/dev.stamp ## run every test against real servers
	$(BIN)/python -m pytest -n $(WORKERS) $(ARGS)

test-postgresql: .venv/dev.stamp ## the same on a real PostgreSQL (Debian: postgresql)
	TEST_DATABASE=postgresql $(BIN)/python -m pytest --reuse-db -n $(WORKERS) $(ARGS)

test-redis: .venv/dev.stamp ## the same on the Redis that is installed (Debian: redis-server)
	TEST_REDIS=$(REDIS_SERVER) $(BIN)/python -m pytest -n $(WORKERS) $(ARGS)

test-cluster: .venv/dev.stamp ## the same on a Redis Cluster of three primaries
	TEST_REDIS=cluster $(BIN)/python -m pytest -n $(WORKERS) $(ARGS)

test-faults: .venv/dev.stamp ## kill, stop and cut off real processes under load (minutes)
	$(BIN)/python -m pytest -m faults $(or $(ARGS),tests/faults)

fuzz: .venv/dev.stamp ## throw random requests at every form, query and API operation (10 minutes)
	FUZZ_EXAMPLES=$${FUZZ_EXAMPLES:-2000} $(BIN)/python -m pytest -n $(WORKERS) --timeout 1200 \
		tests/leaderboard/api/test_schemathesis.py tests/security/test_fuzz.py $(ARGS)

install: .venv/run.stamp ## make .venv with the pinned packages, nothing else

lint: .venv/dev.stamp ## check style and templates
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@find templates -name '*.html' -print0 | xargs -0 -r $(BIN)/djade --check

format: .venv/dev.stamp ## put the code in its usual form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	@find templates -name '*.html' -print0 | xargs -0 -r $(BIN)/djade || true

types: .venv/dev.stamp ## check types
	$(BIN)/mypy

bench: .venv/dev.stamp ## measure, as ratios, and print the tables
	$(BIN)/python -m bench $(ARGS)

screenshots: .venv/dev.stamp ## take pictures of every page into docs/screenshots
	$(BIN)/python -m tests.screenshots $(ARGS)

messages: .venv/dev.stamp ## gather texts for translation and compile them (Debian: gettext)
	$(BIN)/python manage.py makemessages -l de -l es -l fr --no-obsolete --no-location --no-wrap \
		--ignore=.venv --ignore=tests --ignore=bench --ignore=var
	$(BIN)/python manage.py compilemessages --ignore=.venv --ignore=var

clean: ## remove .venv and caches; the data under var/ stays
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/run.stamp: requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Rostrum needs Python 3.11 or newer; set PYTHON=python3.x")'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Installing the pinned packages (once) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

.venv/dev.stamp: requirements.txt requirements-dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Rostrum needs Python 3.11 or newer; set PYTHON=python3.x")'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Installing the pinned packages for tests (once) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@ .venv/run.stamp
