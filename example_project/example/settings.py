"""Settings of the example project. ADDONS and SIMHASH_ENABLED are for scrapy-simhash."""

BOT_NAME = "example"  # names the project in the log and in the user agent

SPIDER_MODULES = ["example.spiders"]  # where `scrapy crawl` looks for spiders
NEWSPIDER_MODULE = "example.spiders"  # where `scrapy genspider` puts new ones

ADDONS = {"scrapy_simhash.Addon": 500}  # installs the plugin's components
SIMHASH_ENABLED = True  # turns the plugin on

ROBOTSTXT_OBEY = True  # request no page that robots.txt forbids

CONCURRENT_REQUESTS_PER_DOMAIN = 1  # one request at a time to each site
DOWNLOAD_DELAY = 1  # seconds between requests to a site

FEED_EXPORT_ENCODING = "utf-8"  # write Chinese characters, not escapes
