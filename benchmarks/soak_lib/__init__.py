"""Parts of the soak: a long crawl of generated pages."""
