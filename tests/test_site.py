"""The documentation: the site has all pages, and links lead somewhere, there and on GitHub."""

import re
from posixpath import normpath
from urllib.parse import urldefrag

import mkdocs_hooks

from .documentation_pages import DOCS, NAMES, ROOT, prose

CONFIGURATION = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
# Of a link or an image, in the text or as a reference.
TARGET = re.compile(r"\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)$", re.MULTILINE)


def targets(name):
    return [one or other for one, other in TARGET.findall(prose(name))]


def is_elsewhere(target):
    return re.match(r"[a-z]+:", target) is not None


def headings(name):
    return [
        re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", heading).replace("`", "")
        for heading in re.findall(r"^#+ (.+)$", prose(name), re.MULTILINE)
    ]


def anchors_of_the_site(name):
    """As Python-Markdown makes them."""
    words = (re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in headings(name))
    return [re.sub(r"[-\s]+", "-", word) for word in words]


def anchors_of_github(name):
    """As GitHub makes them, where the same files are read."""
    return [
        re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-")
        for heading in headings(name)
    ]


def nav():
    lines = CONFIGURATION[CONFIGURATION.index("\nnav:") :].splitlines()
    return re.findall(r": (\S+\.md)$", "\n".join(lines), re.MULTILINE)


def test_every_page_is_in_the_navigation_once():
    pages = [path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")]
    assert sorted(nav()) == sorted([*pages, *mkdocs_hooks.PAGES.values()])


def links():
    """Yield a page's name, a link in it, and the page and the heading that it leads to."""
    for name in NAMES:
        for target in targets(name):
            if not is_elsewhere(target):
                path, anchor = urldefrag(target)
                yield name, target, normpath(f"{name}/../{path}") if path else name, anchor


def test_every_link_leads_to_a_page_and_a_heading():
    for name, target, found, anchor in links():
        assert (ROOT / found).is_file(), f"{name}: {target}"
        assert mkdocs_hooks.site_path(found), f"{name}: {target} is no page of the site"
        if anchor:
            assert anchor in anchors_of_the_site(found), f"{name}: {target}"
            assert anchor in anchors_of_github(found), f"{name}: {target}"


def test_no_heading_that_is_linked_shares_its_anchor():
    for name, target, found, anchor in links():
        if anchor:
            assert anchors_of_the_site(found).count(anchor) == 1, f"{name}: {target}"


def test_references_are_defined_and_used():
    for name in NAMES:
        text = prose(name)
        defined = set(re.findall(r"^\[([^\]]+)\]: ", text, re.MULTILINE))
        assert set(re.findall(r"\]\[([\w-]+)\]", text)) == defined, name


def test_external_links_use_https():
    found = [target for name in NAMES for target in targets(name) if is_elsewhere(target)]
    assert len(found) > 20
    assert [target for target in found if not target.startswith("https://")] == []


def test_links_are_rewritten_for_the_site():
    rewritten = mkdocs_hooks.with_links_of_the_site
    text = "[a](docs/trust.md#measured), [b](docs/usage/monitors.md), ![c](docs/report-light.png)"
    assert rewritten(text, "README.md") == (
        "[a](trust.md#measured), [b](usage/monitors.md), ![c](report-light.png)"
    )
    assert rewritten("[a](../../README.md#settings)", "docs/usage/x.md") == (
        "[a](../readme.md#settings)"
    )
    for same in ("[a](https://example.com/README.md)", "[a](#settings)", "[a](trust.md)"):
        assert rewritten(same, "docs/reference.md") == same
