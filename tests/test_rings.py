"""Which tests of the thorough ring CI runs for a commit."""

import pytest

from tests import rings

FILES = [
    *(f"tests/index/test_{name}.py" for name in "abcde"),
    *(f"tests/crawl/test_{name}.py" for name in "abc"),
    "tests/test_scheme.py",
    "tests/example/test_kills.py",
]


@pytest.mark.parametrize(
    ("path", "area"),
    [
        ("scrapy_simhash/index/plan.py", "index"),
        ("scrapy_simhash/extras/passages/index.py", "extras/passages"),
        ("tests/extras/conftest.py", "extras"),
        ("scrapy_simhash/scheme.py", ""),
        ("example_project/example/demosite/site.py", "example"),
        ("README.md", None),
    ],
)
def test_the_area_of_a_file(path, area):
    assert rings.area(path) == area


@pytest.mark.parametrize("changed", [[], ["tests/index/child.py"], ["docs/a.md"]])
def test_several_commits_run_all_files(changed):
    chosen = [rings.choose(FILES, changed, f"{number:040x}") for number in range(rings.PARTS)]
    assert set().union(*chosen) == set(FILES)
