"""A plain install and the code of README work in a fresh project."""

import json
import os
import re
import subprocess
import threading
import venv
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parent.parent

ARTICLE = " ".join(
    f"The keeper of lighthouse number {n} writes down wind, rain and passing ships by the hour."
    for n in ("one", "two", "three", "four", "five", "six")
)
PAGES = {
    "/": f"<a href='/copy'>copy</a><div class='article'><p>{ARTICLE}</p></div>",
    "/copy": f"<div class='article'><p>{ARTICLE.replace('rain', 'hail', 1)}</p></div>",
}


class Site(BaseHTTPRequestHandler):
    def do_GET(self):
        page = PAGES.get(self.path)
        self.send_response(200 if page else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        if page:
            head = "<head><title>Lighthouses</title></head>"
            self.wfile.write(f"<html>{head}<body>{page}</body></html>".encode())

    def log_message(self, *arguments):
        pass


@pytest.fixture
def site():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join()


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


def test_readme_in_a_fresh_environment_and_project(tmp_path, site):
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
        f"    start_urls = ['{site}', '{site}copy']\n"
        "    custom_settings = {'CONCURRENT_REQUESTS': 1, 'DOWNLOAD_DELAY': 0}\n\n" + method,
        encoding="utf-8",
    )

    log = run(python, "-m", "scrapy", "crawl", "pages", "-O", "tagged.jsonl", cwd=project)
    tagged = json_lines(project / "tagged.jsonl")
    assert sorted(item["simhash_kind"] for item in tagged) == ["near-duplicate", "new"]
    assert re.search(r"INFO: \S+ is a copy of \S+", log)
    assert (project / ".scrapy" / "simhash" / "spiders" / "pages" / "manifest.json").exists()
    assert "<html" in (project / "report.html").read_text(encoding="utf-8")

    drop = ("-s", "SIMHASH_ACTION=drop", "-s", "SIMHASH_RESET=1", "-O", "dropped.jsonl")
    log = run(python, "-m", "scrapy", "crawl", "pages", *drop, cwd=project)
    assert "1 near-duplicates (50.0%)" in log
    dropped = json_lines(project / "dropped.jsonl")
    assert len(dropped) == 1
    assert "simhash_kind" not in dropped[0]
