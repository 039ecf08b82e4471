"""A plain install and the code of README work in a fresh project."""

import json
import os
import re
import subprocess
import venv
from pathlib import Path

import pytest

from tests.crawl.site import serving

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parent.parent

ARTICLE = " ".join(
    f"The keeper of lighthouse number {n} writes down wind, rain and passing ships by the hour."
    for n in ("one", "two", "three", "four", "five", "six")
)
PAGE = (
    "<html><head><title>Lighthouses</title></head><body><a href='/copy'>copy</a>"
    f"<div class='article'><p>{ARTICLE}</p></div></body></html>"
)


@pytest.fixture
def urls():
    with serving() as site:
        yield [site.put("/", PAGE), site.put("/copy", PAGE.replace("rain", "hail", 1))]


def readme_block(name):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.search(rf"<!-- tested: {name} -->\n```python\n(.*?)```", text, re.DOTALL)[1]


def run(*command, cwd):
    # Nothing of this checkout, nor of the environment that the tests run in.
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "SCRAPY"))}
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def json_lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_readme_in_a_fresh_environment_and_project(tmp_path, urls):
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", str(ROOT), cwd=tmp_path)
    run(python, "-m", "scrapy", "startproject", "fresh", cwd=tmp_path)
    project = tmp_path / "fresh"
    with (project / "fresh" / "settings.py").open("a", encoding="utf-8") as settings:
        settings.write("\n" + readme_block("settings"))
    method = "".join(f"    {line}\n" for line in readme_block("spider").splitlines())
    (project / "fresh" / "spiders" / "pages.py").write_text(
        "import scrapy\n\n\nclass PagesSpider(scrapy.Spider):\n    name = 'pages'\n"
        f"    start_urls = {urls}\n"
        "    custom_settings = {'CONCURRENT_REQUESTS': 1, 'DOWNLOAD_DELAY': 0}\n\n" + method,
        encoding="utf-8",
    )
    log = run(python, "-m", "scrapy", "crawl", "pages", "-O", "tagged.jsonl", cwd=project)
    tagged = json_lines(project / "tagged.jsonl")
    assert sorted(item["simhash_kind"] for item in tagged) == ["near-duplicate", "new"]
    assert re.search(r"INFO: \S+ is a copy: \d+ % similar", log)
    assert (project / ".scrapy" / "simhash" / "spiders" / "pages" / "manifest.json").exists()
    assert "<html" in (project / "report.html").read_text(encoding="utf-8")
    drop = ("-s", "SIMHASH_ACTION=drop", "-s", "SIMHASH_RESET=1", "-O", "dropped.jsonl")
    log = run(python, "-m", "scrapy", "crawl", "pages", *drop, cwd=project)
    assert "1 near-duplicates (50.0%)" in log
    dropped = json_lines(project / "dropped.jsonl")
    assert len(dropped) == 1
    assert "simhash_kind" not in dropped[0]
