"""Links of the documentation where it is read on GitHub. `make docs` checks those of the site."""

import re
from posixpath import normpath
from urllib.parse import urldefrag

from .documentation_pages import NAMES, ROOT, prose

# Of a link or an image, in the text or as a reference.
TARGET = re.compile(r"\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)$", re.MULTILINE)


def targets(name):
    return [one or other for one, other in TARGET.findall(prose(name))]


def is_elsewhere(target):
    return re.match(r"[a-z]+:", target) is not None


def anchors(name):
    """The anchors of headings, as GitHub makes them, where the same files are read."""
    for heading in re.findall(r"^#+ (.+)$", prose(name), re.MULTILINE):
        text = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", heading).lower()
        yield re.sub(r"[^\w -]", "", text).strip().replace(" ", "-")


def test_every_link_leads_to_a_page_and_a_heading():
    for name in NAMES:
        for target in targets(name):
            if is_elsewhere(target):
                continue
            path, anchor = urldefrag(target)
            found = normpath(f"{name}/../{path}") if path else name
            assert (ROOT / found).is_file(), f"{name}: {target}"
            assert not anchor or anchor in anchors(found), f"{name}: {target}"


def test_references_are_defined_and_used():
    for name in NAMES:
        text = prose(name)
        defined = set(re.findall(r"^\[([^\]]+)\]: ", text, re.MULTILINE))
        assert set(re.findall(r"\]\[([\w-]+)\]", text)) == defined, name


def test_external_links_use_https():
    found = [target for name in NAMES for target in targets(name) if is_elsewhere(target)]
    assert len(found) > 20
    assert [target for target in found if not target.startswith("https://")] == []
