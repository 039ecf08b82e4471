"""Crawls with other people's packages, as their registry has them: `make test-ecosystem`."""
