"""Settings of the example project: those of any Scrapy project, and two for scrapy-simhash."""

BOT_NAME = "example"  # names the project in the log and in the user agent

SPIDER_MODULES = ["example.spiders"]  # where `scrapy crawl` looks for spiders
NEWSPIDER_MODULE = "example.spiders"  # where `scrapy genspider` puts new ones

ADDONS = {"scrapy_simhash.Addon": 500}  # installs the plugin's components
SIMHASH_ENABLED = True  # and this turns them on

ROBOTSTXT_OBEY = True  # stay out of where a site asks crawlers to stay out

CONCURRENT_REQUESTS_PER_DOMAIN = 1  # one request at a time to each site
DOWNLOAD_DELAY = 1  # and one second between them

FEED_EXPORT_ENCODING = "utf-8"  # write Chinese as Chinese, not as escapes
