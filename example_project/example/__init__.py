"""A Scrapy project that uses scrapy-simhash, and a site to try it on."""
