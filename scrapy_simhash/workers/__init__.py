"""Run jobs in worker processes: one pool, for crawls and `dedupe`."""
