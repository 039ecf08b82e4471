"""Fingerprint pages in worker processes."""
