"""A Scrapy project that uses scrapy-simhash, and a demo site to try it on."""
