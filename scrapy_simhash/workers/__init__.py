"""Run jobs in worker processes, for crawls and `dedupe`."""
