"""The adapter to Scrapy: add-on, extension, middlewares, item pipeline and settings."""
