"""The adapter to Scrapy: add-on, middlewares, pipeline and settings."""
