"""Maintain an index that no crawl uses: check, repair, merge, expire, rebuild, export, explain."""
