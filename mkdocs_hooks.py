"""What the documentation site needs besides docs/: pages that lie elsewhere in the repository.

README, CHANGELOG, CONTRIBUTING, SECURITY and the README of the benchmarks are read where they are.
Here they become pages of the site, and links to them, and from them, are those of the site.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent
# Path in the repository → page of the site.
PAGES = {
    "README.md": "readme.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "benchmarks/README.md": "benchmarks.md",
}
_DOCS = "docs/"
# A link or an image, and what it points to; not an anchor of its own page.
_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)")


def site_path(path: str) -> str | None:
    """Where a file of the repository is on the site; None if it is not."""
    if path.startswith(_DOCS):
        return path[len(_DOCS) :]
    return PAGES.get(path)


def with_links_of_the_site(markdown: str, path: str) -> str:
    """A page's Markdown, its links to files of the repository replaced.

    :param path: of the page, in the repository.
    """
    here = site_path(path) or path

    def replace(match: re.Match[str]) -> str:
        target = site_path(normpath(str(PurePosixPath(path).parent / match[1])))
        return match[1] if target is None else relpath(target, str(PurePosixPath(here).parent))

    return _LINK.sub(replace, markdown)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """MkDocs collected the files of docs/: add the others."""
    from mkdocs.structure.files import File

    for path, page in PAGES.items():
        text = (ROOT / path).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=with_links_of_the_site(text, path)))
    return files


def on_page_markdown(
    markdown: str,
    page: Page,
    config: MkDocsConfig,  # noqa: ARG001 - MkDocs passes it by name
    files: Files,  # noqa: ARG001
) -> str:
    """MkDocs read a page: links out of docs/ are those of the site."""
    at = page.file.src_uri
    return markdown if at in PAGES.values() else with_links_of_the_site(markdown, _DOCS + at)
