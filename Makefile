# What a developer does, as commands; each does its own set-up in .venv.

PYTHON ?= python3
OLDEST_SCRAPY := 2.15.0
# Files at once, for the tests of a file share what they crawl.
PARALLEL := --numprocesses auto --dist loadfile

.PHONY: demo test test-oldest lint format clean

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	.venv/bin/pip install --quiet --editable ".[test]"
	# Apart: pip 23.2 stops where one resolution holds trafilatura and readability-lxml.
	.venv/bin/pip install --quiet trafilatura resiliparse
	touch $@

.venv-lint/ready: pyproject.toml
	$(PYTHON) -m venv .venv-lint
	.venv-lint/bin/pip install --quiet --editable ".[test,lint]"
	touch $@

.venv-oldest/ready: pyproject.toml
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/pip install --quiet "scrapy==$(OLDEST_SCRAPY)" httpx --editable ".[test]"
	touch $@

# A crawl of the example project's own site, near-duplicates and all.
demo: .venv/ready
	cd example_project && ../.venv/bin/python -m example.demo

test: .venv/ready
	.venv/bin/python -m pytest $(PARALLEL)

# The crawls again with the oldest Scrapy that is supported.
test-oldest: .venv-oldest/ready
	.venv-oldest/bin/python -m pytest $(PARALLEL) tests/crawl

lint: .venv-lint/ready
	.venv-lint/bin/ruff check .
	.venv-lint/bin/ruff format --check .
	.venv-lint/bin/mypy

format: .venv-lint/ready
	.venv-lint/bin/ruff format .
	.venv-lint/bin/ruff check --fix .

clean:
	rm -rf .venv .venv-lint .venv-oldest build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
