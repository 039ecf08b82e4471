"""What ties the core to Scrapy; nothing outside this package imports Scrapy."""
