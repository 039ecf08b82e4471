"""Spiders for several processes that share a queue. They need scrapy-redis."""
