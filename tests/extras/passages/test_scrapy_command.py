"""``scrapy simhash``: a command of Scrapy, which downloads pages with the settings of a project."""

import signal
import socket

import pytest

from tests.commands.conftest import DEADLINE_S, MODULE, SCRAPY, finish, start
from tests.commands.samples import CHINESE, NOTICE, written
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


REACTORS = {
    "default": (),
    "select": ("-s", "TWISTED_REACTOR=twisted.internet.selectreactor.SelectReactor"),
    "none": ("-s", "TWISTED_REACTOR_ENABLED=False", "-s", "FORCE_CRAWLER_PROCESS=True"),
}


@pytest.mark.thorough
@pytest.mark.parametrize("reactor", REACTORS)
def test_a_page_is_fetched_with_the_settings_of_a_project(run_process, folder, reactor):
    written(folder, "[settings]\ndefault = boats.settings\n", "scrapy.cfg")
    (folder / "boats").mkdir()
    written(folder / "boats", "", "__init__.py")
    written(folder / "boats", SETTINGS, "settings.py")
    written(folder, CHINESE, "notice.txt")
    run_process(*SCRAPY, "passages", "add", "notice.txt")
    check = (*SCRAPY, "passages", "check", *REACTORS[reactor])
    with serving() as site:
        old = site.put("/old", b"", status=302, location=site.url("/new"))
        new = site.put("/new", CHINESE.encode("gb18030"), content_type="text/plain; charset=gbk")
        site.put("/robots.txt", "User-agent: *\nDisallow: /", content_type="text/plain")
        ran = run_process(*check, old, "-s", "SIMHASH_ENABLED=True")
        assert (ran.code, ran.err) == (0, "")
        assert "known_share     1.000" in ran.out
        assert site.hits == ["/old", "/new"]
        # It is no page of a crawl.
        assert [path.name for path in (folder / ".scrapy").iterdir()] == ["simhash-passages"]
        ran = run_process(*check, new, "-s", "ROBOTSTXT_OBEY=True")
    assert ran.code == 1
    assert "Forbidden by robots.txt" in ran.err


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
