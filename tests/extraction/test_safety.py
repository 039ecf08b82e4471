"""A page causes no requests, reads no files and expands no entities."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from scrapy_simhash.extraction import extract
from tests.extractors import INSTALLED
from tests.samples import PARAGRAPHS, article_page

each = pytest.mark.parametrize("extractor", INSTALLED)


@pytest.fixture
def server():
    """Return the address of a web server, and the list of requested paths."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"fetched")

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    thread.join()
    server.server_close()


@each
@pytest.mark.parametrize(
    "prologue",
    [
        '<!DOCTYPE html SYSTEM "{url}/x.dtd">',
        '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "{url}/x.dtd">',
        '<?xml version="1.0"?><!DOCTYPE html [<!ENTITY e SYSTEM "{url}/e">]>',
        '<?xml version="1.0"?><!DOCTYPE html [<!ENTITY % p SYSTEM "{url}/p"> %p;]>',
        '<?xml-stylesheet href="{url}/s.xsl"?><base href="{url}/"><xi:include href="{url}/i"/>',
    ],
)
def test_no_page_causes_a_request(extractor, prologue, server):
    url, asked = server
    extras = f"<img src='{url}/i.png'><link href='{url}/l'><iframe src='{url}/f'></iframe>"
    page = prologue.format(url=url) + article_page(PARAGRAPHS[0] + "&e;", head=extras)
    assert "fetched" not in extract(page, extractor).text
    assert asked == []


@each
def test_no_page_reads_a_file(extractor, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("the combination of the safe")
    for url in (secret.as_uri(), str(secret)):
        entity = f'<?xml version="1.0"?><!DOCTYPE html [<!ENTITY e SYSTEM "{url}">]>'
        page = entity + article_page(*(f"{paragraph} &e;" for paragraph in PARAGRAPHS))
        assert "combination" not in extract(page, extractor).text


@each
def test_entities_are_not_expanded(extractor):
    entities = '<!ENTITY e0 "harbour">' + "".join(
        f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10)
    )
    page = f"<!DOCTYPE html [{entities}]>" + article_page(PARAGRAPHS[0] + "&e9;", *PARAGRAPHS)
    assert len(extract(page, extractor).text) < len(page)
