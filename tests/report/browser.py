"""Open a report in a headless browser, and record its requests and errors."""

from scrapy_simhash.report.page import render

# Tolerance for positions, because versions of Chromium round them differently.
PIXEL = 1
# A text that tries to run scripts, to send a request and to change the page.
HOSTILE = (
    "<script>window.taken = true</script><img src='http://127.0.0.1:9/x.png' "
    "onerror=\"window.taken = true\"><svg onload='window.taken = true'></svg>"
    "</script><script>window.taken = true</script>{{ 7 * 7 }}${7 * 7}"
    "<style>body { display: none }</style>\"'><b onclick=alert(1)> \u202egpj.exe \x07\x00"
)


class Watched:
    """A page from disk in a browser, with its requests, console messages and errors."""

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
        """Return the texts of the clusters' rows: name, near-duplicates, distances, similarity and
        time.
        """
        return self.page.locator("tr.cluster").evaluate_all(
            "rows => rows.map(row => [...row.cells].slice(1).map(cell => cell.innerText))"
        )

    def assert_quiet(self):
        """Check that the page requested only its own file, and caused no message and no error."""
        requests = [url for url in self.requests if not url.startswith("blob:")]
        assert len(requests) == 1, requests
        assert self.complaints == []


def written(path, report):
    """Write a report to a file, and return its path."""
    path.write_text(render(report), encoding="utf-8")
    return path
