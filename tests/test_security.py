"""Hostile pages: they may not reach the network, files, code or terminals, nor take much time."""

import base64
import contextlib
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest
from scrapy.settings import Settings

from scrapy_simhash import Detector, Scheme, open_index
from scrapy_simhash.crawl.settings import SimhashSettings
from scrapy_simhash.extraction import extract
from scrapy_simhash.index.manifest import default_kind_name
from tests.crawl.harness import Crawl, run
from tests.crawl.pages import page
from tests.crawl.site import serving
from tests.extractors import INSTALLED, OURS
from tests.samples import PARAGRAPHS, article_page

ROOT = Path(__file__).resolve().parents[1]
SCHEME = Scheme.preset("wide")
JUDGED = ("new", "near-duplicate", "unchanged", "changed")

# Each way in which a browser would fetch something, or go elsewhere.
FETCHING = (
    '<base href="{url}/"><img src="relative.png">',
    '<meta http-equiv="refresh" content="0; url={url}/refresh">',
    '<meta http-equiv="refresh" content="0; url={url}/a"><noscript><img src="{url}/b"></noscript>',
    '<object data="{url}/object" codebase="{url}/" classid="{url}/c"><param name=src value="{url}"></object>',
    '<embed src="{url}/embed"></embed><applet archive="{url}/a.jar" code=A></applet>',
    '<script src="{url}/s.js"></script><script type=module>import "{url}/m.js"</script>',
    '<link rel="stylesheet preload dns-prefetch manifest import" href="{url}/l">',
    '<style>@import url("{url}/s.css"); p {{ background: url({url}/b.png) }}</style>',
    '<p style="background: url({url}/b.png); behavior: url({url}/b.htc)">styled</p>',
    '<video src="{url}/v" poster="{url}/p"><source src="{url}/s"><track src="{url}/t"></video>',
    '<picture><source srcset="{url}/1 1x, {url}/2 2x"><img srcset="{url}/3 3x" longdesc="{url}/d"></picture>',
    '<iframe src="{url}/f" srcdoc="<img src={url}/i>"></iframe><frame src="{url}/g">',
    '<svg><image xlink:href="{url}/i"/><use href="{url}/u#a"/><script href="{url}/s"/></svg>',
    '<form action="{url}/f" method=post><input type=image src="{url}/i" autofocus></form>',
    '<html manifest="{url}/m"><head profile="{url}/p"><body background="{url}/b">',
    '<a href="{url}/a" ping="{url}/ping">link</a><q cite="{url}/c">quote</q>',
    '<?xml-stylesheet href="{url}/s.xsl" type="text/xsl"?><xi:include href="{url}/i"/>',
    '<!DOCTYPE html PUBLIC "-//W3C//DTD HTML 4.01//EN" "{url}/strict.dtd">',
    '<!DOCTYPE html SYSTEM "{url}/x.dtd">',
    '<?xml version="1.0"?><!DOCTYPE html [<!ENTITY e SYSTEM "{url}/e">]><p>&e;</p>',
    '<?xml version="1.0"?><!DOCTYPE html [<!ENTITY % p SYSTEM "{url}/p"> %p;]>',
)


class Unpickled:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


@pytest.mark.parametrize("extractor", INSTALLED)
def test_no_element_of_a_page_causes_a_request(extractor):
    detector = Detector(Scheme(bits=256, extractor=extractor))
    with serving() as site, open_index("memory:", SCHEME, max_distance=36) as index:
        for number, markup in enumerate(FETCHING):
            tempting = markup.format(url=site.url(""))
            for html in (tempting + article_page(), article_page(tempting, *PARAGRAPHS)):
                verdict = detector.check(index, f"https://a.example/{number}", html)
                if extractor in OURS:  # others may find no text
                    assert verdict.kind in JUDGED, markup
        assert site.hits == []


@pytest.mark.parametrize("extractor", INSTALLED)
def test_no_page_reads_a_file(extractor, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("the combination of the safe")
    for url in (secret.as_uri(), str(secret)):
        entity = f'<?xml version="1.0"?><!DOCTYPE html [<!ENTITY e SYSTEM "{url}">]>'
        page = entity + article_page(*(f"{paragraph} &e;" for paragraph in PARAGRAPHS))
        assert "combination" not in extract(page, extractor).text


@pytest.mark.parametrize("extractor", INSTALLED)
def test_entities_are_not_expanded(extractor):
    entities = '<!ENTITY e0 "harbour">' + "".join(
        f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10)
    )
    page = f"<!DOCTYPE html [{entities}]>" + article_page(PARAGRAPHS[0] + "&e9;", *PARAGRAPHS)
    assert len(extract(page, extractor).text) < len(page)


WATCHED = """
import dataclasses, sys
from scrapy_simhash import Detector, Scheme, open_index
from tests.extractors import INSTALLED, OURS
from tests.samples import PARAGRAPHS, article_page

known = article_page("\u6e21\u8f6e\u51c6\u65f6\u79bb\u5f00\u7801\u5934", *PARAGRAPHS)
page = sys.stdin.buffer.read().decode("utf-8")
scheme = Scheme.preset("wide")
detectors = [Detector(dataclasses.replace(scheme, extractor=name)) for name in INSTALLED]
index = open_index("memory:", scheme)
# The first pages import and compile modules; later pages must not.
for warm in (known, known.replace("ferry", "train"), known[:900] + "\\0" + known[900:]):
    for detector in detectors:
        detector.check(index, "a", warm)
watched = (
    "compile", "exec", "marshal.loads", "pickle.find_class", "ctypes.dlopen", "import", "open",
    "code.__new__", "os.", "shutil.", "socket.", "subprocess.", "urllib.", "tempfile.", "ftplib.",
)
seen = []
on = True
def hook(event, arguments):
    if on and event.startswith(watched):
        seen.append((event, str(arguments)[:200]))
sys.addaudithook(hook)
kinds = {detector.check(index, "b", page).kind for detector in detectors}
eval("1")
on = False
assert seen.pop()[0] == "exec" and seen.pop()[0] == "compile", "the hook hears nothing"
assert not seen, seen
assert kinds <= {"new", "near-duplicate", "unchanged", "changed"}, kinds
"""


def test_content_of_a_page_is_never_run_unpickled_opened_or_imported(tmp_path):
    trap = tmp_path / "trap"
    pickled = pickle.dumps(Unpickled(trap))
    with contextlib.suppress(FileNotFoundError):
        trap.unlink()
    payloads = [
        f"__import__('pathlib').Path({str(trap)!r}).touch()",
        f"{{{{ ''.__class__.__mro__[1].__subclasses__() }}}} ${{jndi:ldap://x}} `touch {trap}`",
        f"$(touch {trap}); <?php touch('{trap}'); ?> <% touch('{trap}') %>",
        f"!!python/object/apply:os.system ['touch {trap}']",
        f"%(asctime)s %s %n {{0.__init__.__globals__}} file://{trap}",
        base64.b64encode(pickled).decode(),
        pickle.dumps(Unpickled(trap), protocol=0).decode("latin-1"),
    ]
    attributes = "".join(f'<p class="{text}" data-x="{text}">{text}</p>' for text in payloads)
    scripts = "".join(
        f"<script>{text}</script><!--[if true]>{text}<![endif]-->" for text in payloads
    )
    html = article_page(*PARAGRAPHS, *payloads, attributes, scripts, head=scripts + attributes)
    child = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WATCHED],
        input=html.encode(),
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
    )
    assert child.returncode == 0, child.stderr.decode()[-3000:]
    assert not trap.exists()
    pickle.loads(pickled)
    assert trap.exists(), "the trap does not work"


KEYS = (
    "../../../../outside", "/etc/passwd", "..", "a/../../b", "nul\0byte", "\0", "CURRENT",
    "manifest.json", "E\xff\xff\xff\xff", "\ud800", "C:\\windows\\x", "~root/x", "x" * 100_000,
    "line\nfeed", "%2e%2e%2f%00", "leveldb", "$HOME", "| touch x",
)  # fmt: skip


def tree(directory):
    """Return the paths below a directory, with N for the numbers of a database's files."""
    paths = directory.rglob("*")
    return {re.sub(r"\d{6}", "N", str(path.relative_to(directory))) for path in paths}


def test_keys_of_pages_never_become_paths(tmp_path):
    detector = Detector(SCHEME)
    kind = default_kind_name()
    for name, keys in (("plain", [f"key {n}" for n in range(len(KEYS))]), ("odd", KEYS)):
        with open_index(f"{kind}:{tmp_path / name / 'index'}", SCHEME) as index:
            for number, key in enumerate(keys):
                words = " ".join(f"w{number}x{word}" for word in range(200))
                verdict = detector.check(index, key, article_page(words))
                assert (verdict.kind, verdict.key) == ("new", key)
                index.confirm(verdict.observation)
        with open_index(f"{kind}:{tmp_path / name / 'index'}", SCHEME) as index:
            assert len(index) == len(KEYS)
            for number, key in enumerate(keys):
                words = " ".join(f"w{number}x{word}" for word in range(200))
                found = index.query(detector.fingerprint_page(article_page(words)).fingerprint)
                assert key in [match.key for match in found]
    assert {path.name for path in tmp_path.iterdir()} == {"plain", "odd"}
    assert tree(tmp_path / "odd") == tree(tmp_path / "plain")


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_stored_files_are_private_with_any_umask(tmp_path, umask):
    settings = Settings({"SIMHASH_DIR": str(tmp_path / "made" / "simhash")})
    before = os.umask(umask)
    try:
        directory = SimhashSettings(settings, "spider").index_location("page")
        with open_index(f"{default_kind_name()}:{directory}", SCHEME) as index:
            index.confirm(index.observe("a", 1))
    finally:
        os.umask(before)
    files = [path for path in directory.rglob("*") if path.is_file()]
    assert len(files) > 2
    directories = [directory, *(path for path in directory.rglob("*") if path.is_dir())]
    # Only the owner can enter these, so the modes of the files do not matter.
    assert {path.stat().st_mode & 0o777 for path in directories} == {0o700}
    assert all(path.stat().st_mode & 0o111 == 0 for path in files), "nothing can be run"


FORGED = "\r\nCRITICAL [root] FORGED \x1b[2J\x1b]0;owned\x07\u2028\u202e\x85"


def hostile(html):
    raise ValueError(re.search("<h1>(.*?)</h1>", html, re.DOTALL)[1] + FORGED)


def test_no_page_forges_a_line_of_the_log(tmp_path):
    with serving() as site:
        requests = []
        for number in range(3):
            url = site.put(f"/a%0d%0aFORGED{number}", page("mill", copy=number))
            key = f"{number}{FORGED}"
            requests.append({"url": url, "meta": {"simhash_key": key}})
        moved = site.put("/moved", "", status=302, location=f"/a%0d%0aFORGED1?{FORGED[2:]}")
        requests.append({"url": moved})
        settings = {"SIMHASH_DEBUG": True, "SIMHASH_ACTION": "tag"}
        odd = site.put("/odd", f"<h1>FORGED{FORGED}</h1>" + page("bees"))
        near, failing = run(
            tmp_path,
            Crawl(requests, settings, name="near"),
            Crawl(
                [odd],
                {**settings, "SIMHASH_EXTRACTOR": "tests.test_security.hostile"},
                name="failing",
            ),
        )
    assert near.stat("near_duplicate") >= 2
    assert failing.stat("errors/extraction") == 1
    said = [*near.lines("near-duplicate page"), *failing.lines("extraction failed for")]
    assert len(said) >= 3
    assert sum("FORGED" in line for line in said) == len(said)
    log = "\n".join(
        line for line in (near.log + failing.log).split("\n") if "scrapy_simhash" in line
    )
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e]", log)
    for result in (near, failing):
        lines = re.split("[\r\n\x85\u2028]", result.log)
        assert [line for line in lines if line.startswith("CRITICAL")] == []
