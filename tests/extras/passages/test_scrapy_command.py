"""``scrapy simhash``: Scrapy's options and settings, in a project and outside, and its downloads."""

import json
import signal
import socket
from pathlib import Path

import pytest
from scrapy.utils.project import get_project_settings

from scrapy_simhash.commands.scrapy_command import Command
from tests.commands.conftest import DEADLINE_S, MODULE, SCRAPY, finish, start
from tests.commands.samples import CHINESE, FERRY, NOTICE, PAGE, written
from tests.crawl.site import serving

SETTINGS = """\
BOT_NAME = "boats"
SPIDER_MODULES = ["boats.spiders"]
ADDONS = {"scrapy_simhash.Addon": 500}
SIMHASH_ENABLED = True
ITEM_PIPELINES = {"boats.nowhere.Pipeline": 1}
LOG_STDOUT = True
USER_AGENT = "boats/1"
"""


@pytest.fixture(scope="module")
def site():
    with serving() as site:
        yield site


@pytest.fixture
def project(folder):
    """A Scrapy project, and a directory in it that is the working directory."""
    written(folder, "[settings]\ndefault = boats.settings\n", "scrapy.cfg")
    (folder / "boats").mkdir()
    written(folder / "boats", "", "__init__.py")
    written(folder / "boats", SETTINGS, "settings.py")
    return folder


@pytest.mark.thorough
def test_it_is_a_command_of_scrapy(run_process, folder):
    ran = run_process(*SCRAPY[:-1])
    assert "  simhash       Find near-duplicate pages" in ran.out
    ran = run_process(*SCRAPY, "--help")
    assert ran.code == 0
    assert "passages" in ran.out
    assert "usage: scrapy simhash" in ran.out
    ran = run_process(*SCRAPY, "passages", "check", "-h", "--nolog")
    assert ran.code == 0
    assert "usage: scrapy simhash passages check" in ran.out
    assert "--text-field" in ran.out


@pytest.mark.thorough
def test_exit_codes_are_ours(run_process, folder):
    name = written(folder, FERRY)
    assert run_process(*SCRAPY, "passages", "add", name).code == 0
    ran = run_process(*SCRAPY, "passages", "check", "none")
    assert (ran.code, ran.out) == (1, "")
    ran = run_process(*SCRAPY, "passages", "check", "--nope", name)
    assert (ran.code, ran.out) == (2, "")
    assert "usage: scrapy simhash passages check" in ran.err
    assert run_process(*SCRAPY).code == 2


@pytest.mark.thorough
def test_outside_of_a_project(run_process, folder):
    name = written(folder, FERRY)
    ran = run_process(*SCRAPY, "passages", "add", name, "-s", "SIMHASH_PASSAGES=elsewhere")
    assert (ran.code, ran.err) == (0, "")
    assert (folder / ".scrapy" / "elsewhere" / "passages.json").exists()
    ran = run_process(*SCRAPY, "passages", "check", "--index", ".scrapy/elsewhere", "-", told=FERRY)
    assert ran.out.startswith("standard input: 100.0 % of it")


def test_inside_a_project(run_process, project):
    name = written(project, FERRY)
    inside = ("sh", "-c", 'cd boats && exec "$@"', "sh")
    ran = run_process(*inside, *SCRAPY, "passages", "add", f"../{name}")
    assert (ran.code, ran.err) == (0, "")
    assert (project / ".scrapy" / "simhash-passages" / "passages.json").exists()
    # The other way to say it has the same index.
    ran = run_process(*MODULE, "passages", "check", name)
    assert ran.out.startswith("letter.txt: 100.0 % of it")
    written(project / "boats", SETTINGS + "SIMHASH_PASSAGES = 7\n", "settings.py")
    ran = run_process(*MODULE, "passages", "check", name)
    assert (ran.code, ran.err) == (
        1,
        "error: SIMHASH_PASSAGES = 7: must be True, False, or the path of a directory\n",
    )


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(SCRAPY, id="scrapy"),
        pytest.param(MODULE, id="module", marks=pytest.mark.thorough),
    ],
)
def test_a_page_is_fetched(run_process, folder, site, command):
    written(folder, NOTICE, "notice.txt")
    assert run_process(*command, "passages", "add", "notice.txt").code == 0
    address = site.put("/page", PAGE)
    ran = run_process(*command, "passages", "check", "--json", address)
    assert (ran.code, ran.err) == (0, "")
    report = json.loads(ran.out)
    assert (report["document"], report["known_share"]) == (address, 1)


@pytest.mark.thorough
def test_a_page_is_fetched_with_the_settings_of_a_project(run_process, project, site):
    written(project, CHINESE, "notice.txt")
    run_process(*SCRAPY, "passages", "add", "notice.txt")
    site.put("/old", b"", status=302, location=site.url("/new"))
    site.put("/new", CHINESE.encode("gb18030"), content_type="text/plain; charset=gbk")
    before = len(site.hits)
    ran = run_process(*SCRAPY, "passages", "check", site.url("/old"), "-s", "SIMHASH_ENABLED=True")
    assert (ran.code, ran.err) == (0, "")
    assert "100.0 % of it appears elsewhere" in ran.out
    assert site.hits[before:] == ["/old", "/new"]
    # It is no page of a crawl.
    assert [path.name for path in (project / ".scrapy").iterdir()] == ["simhash-passages"]
    site.put("/robots.txt", "User-agent: *\nDisallow: /", content_type="text/plain")
    ran = run_process(*SCRAPY, "passages", "check", site.url("/new"), "-s", "ROBOTSTXT_OBEY=True")
    assert ran.code == 1
    assert "robots.txt forbids it" in ran.err
    ran = run_process(*SCRAPY, "passages", "check", site.url("/new"), "--loglevel", "DEBUG")
    assert "Crawled (200)" in ran.err
    assert "Crawled" not in ran.out


@pytest.mark.thorough
@pytest.mark.parametrize(
    "reactor",
    ["TWISTED_REACTOR=twisted.internet.selectreactor.SelectReactor", "FORCE_CRAWLER_PROCESS=True"],
)
def test_other_reactors(run_process, folder, site, reactor):
    run_process(*SCRAPY, "passages", "add", written(folder, NOTICE))
    ran = run_process(*SCRAPY, "passages", "check", site.put("/page", PAGE), "-s", reactor)
    assert (ran.code, ran.err) == (0, "")
    assert "100.0 %" in ran.out


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("path", "content", "told"),
    [
        ("/none", None, "the server answered 404"),
        ("/image", ("image/png", b"\x89PNG\r\n\x1a\n\0\0"), "not text (image/png)"),
        ("/empty", ("text/html", b"<html></html>"), "no text in it"),
        ("/long", ("text/plain", b"x" * 5000), "4000"),
    ],
)
def test_what_cannot_be_fetched(run_process, site, path, content, told):
    run_process(*MODULE, "passages", "add", written(Path(), NOTICE))
    if content is not None:
        site.put(path, content[1], content_type=content[0])
    ran = run_process(*MODULE, "passages", "check", "-s", "SIMHASH_MAX_BYTES=4000", site.url(path))
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith(f"error: {site.url(path)}")
    assert told in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.thorough
def test_nobody_is_there(run_process, folder):
    run_process(*MODULE, "passages", "add", written(folder, NOTICE))
    ran = run_process(*MODULE, "passages", "check", "http://127.0.0.1:1/", "-h")
    assert ran.code == 0
    ran = run_process(*MODULE, "passages", "check", "http://127.0.0.1:1/")
    assert ran.code == 1
    assert "cannot be fetched" in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    "enabled",
    [True, pytest.param(False, marks=pytest.mark.thorough)],
    ids=["reactor", "reactorless"],
)
def test_ctrl_c_while_a_page_is_fetched(run_process, folder, enabled):
    run_process(*MODULE, "passages", "add", written(folder, NOTICE))
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(DEADLINE_S)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/"
        setting = f"TWISTED_REACTOR_ENABLED={enabled}"
        process = start(*SCRAPY, "passages", "check", address, "-s", setting, in_folder=folder)
        try:
            # It asks, and is not answered.
            connection, _ = server.accept()
            with connection:
                connection.settimeout(DEADLINE_S)
                assert connection.recv(1) == b"G"
                process.send_signal(signal.SIGINT)
                ran = finish(process)
        finally:
            process.kill()
            process.communicate()
    assert ran == (130, "", "interrupted\n")


def test_in_this_process(folder, capsys):
    command = Command()
    command.settings = get_project_settings()
    import argparse

    parser = argparse.ArgumentParser(conflict_handler="resolve")
    command.add_options(parser)
    arguments = ["passages", "add", written(folder, FERRY), "-s", "SIMHASH_PASSAGES=here"]
    options, rest = parser.parse_known_args(arguments)
    command.process_options(rest, options)
    command.run(rest, options)
    assert command.exitcode == 0
    assert (folder / ".scrapy" / "here").is_dir()
    assert "passages" in command.syntax()
    options, rest = parser.parse_known_args(["passages", "check", "none.txt"])
    command.run(rest, options)
    assert command.exitcode == 1
    capsys.readouterr()
