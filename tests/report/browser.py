"""A report in a headless browser, watched."""

from scrapy_simhash.report.page import render

# Chromium's versions round positions differently.
PIXEL = 1
# Whatever a page's text may try: a flag, a title, a request.
HOSTILE = (
    "<script>window.taken = true</script><img src='http://127.0.0.1:9/x.png' "
    "onerror=\"window.taken = true\"><svg onload='window.taken = true'></svg>"
    "</script><script>window.taken = true</script>{{ 7 * 7 }}${7 * 7}"
    "<style>body { display: none }</style>\"'><b onclick=alert(1)> \u202egpj.exe \x07\x00"
)


class Watched:
    """A page from the disk, with what it asked for and complained about."""

    def __init__(self, browser, path, *, scheme="light", width=1280, before=None, **options):
        self.context = browser.new_context(
            color_scheme=scheme, viewport={"width": width, "height": 900}, **options
        )
        self.page = self.context.new_page()
        self.requests, self.complaints = [], []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        if before:
            self.page.add_init_script(before)
        self.page.goto(path.as_uri())

    def rows(self):
        """The texts of the clusters' rows: name, near-duplicates, distances, similarity, time."""
        return self.page.locator("tr.cluster").evaluate_all(
            "rows => rows.map(row => [...row.cells].slice(1).map(cell => cell.innerText))"
        )

    def regrouped(self, k):
        """Slide to k, and wait until it is shown."""
        self.page.locator("#k").fill(str(k))
        self.page.wait_for_function(
            """k => document.getElementById("k-now").textContent === `k = ${k}`
              && !document.getElementById("k").hasAttribute("aria-busy")""",
            arg=k,
        )

    def quiet(self):
        """Nothing but the file was asked for, and nothing was complained about."""
        assert len([url for url in self.requests if not url.startswith("blob:")]) == 1, (
            self.requests
        )
        assert self.complaints == []


def written(path, report):
    path.write_text(render(report), encoding="utf-8")
    return path
