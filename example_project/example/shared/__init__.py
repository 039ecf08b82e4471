"""Spiders for several processes that share a queue in Redis. They need scrapy-redis."""
