"""Fingerprinting in processes of their own."""
