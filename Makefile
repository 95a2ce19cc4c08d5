# Aliases for developers; everything works without make, through manage.py.
PYTHON ?= .venv/bin/python
BIN = .venv/bin

.PHONY: setup dev up demo stop test check bench locks

setup up demo stop test:
	python3 manage.py $@

dev:                # .venv with the tools for developing
	python3 manage.py setup --dev

check: dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	SECRET_KEY=check DATABASE_URL=postgres://check REDIS_URL=redis://check $(BIN)/mypy .
	$(BIN)/lint-imports
	$(BIN)/djlint --lint templates
	$(PYTHON) manage.py makemigrations --check --dry-run
	python3 manage.py test

bench: dev
	$(PYTHON) -m bench

locks:              # after a change of the dependencies in pyproject.toml
	$(BIN)/uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -q -o requirements.txt
	$(BIN)/uv pip compile pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -q -o requirements-dev.txt
	$(BIN)/uv pip compile requirements-uv.txt --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate -q -o requirements-uv.txt
