"""A page causes no requests, reads no files and expands no entities."""

import pytest

from scrapy_simhash.extraction import extract
from tests.extractors import INSTALLED
from tests.samples import PARAGRAPHS, article_page

each = pytest.mark.parametrize("extractor", INSTALLED)


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
