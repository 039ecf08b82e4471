"""Spiders whose processes share a queue: they need scrapy-redis, unlike those in `spiders`."""
