"""Generated spiders for pages of one template, which differ in what the items say."""

import json
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any, ClassVar

from tests.crawl.generated_spiders import GeneratedSpider, links, number_in, page, prose


class Marked(GeneratedSpider):
    """Pages with the text of a licence, which differ in nothing but their markup."""

    ways = ("picture", "file", "attribute", "number", "script", "price")
    pauses = True

    def document(self, number, more=""):
        file = f'<a class="f" href="/get?file={number}">File</a>'
        script = f'<script id="s">{{"seat": {number}, "price": "{number}.50"}}</script>'
        seat = f'<b data-seat="row {number}" data-number={number}></b>'
        marked = f'<img src="/pictures/{number}.jpg">{file}{seat}{script}'
        return page("Picture", prose("licence"), marked)

    def parse_document(self, response):
        script = "script#s::text"
        found = {
            "picture": response.css("img::attr(src)").get,
            "file": lambda: response.urljoin(response.css("a.f::attr(href)").get()),
            "attribute": response.css("b::attr(data-seat)").get,
            "number": lambda: int(response.css("b::attr(data-number)").get()),
            "script": lambda: json.loads(response.css(script).get())["seat"],
            "price": lambda: float(json.loads(response.css(script).get())["price"]),
        }
        return [{"content": found[self.way]()}]


class Coded(GeneratedSpider):
    """Pages with one text, which differ in a short text without words."""

    ways = (
        *("article number", "state", "date", "rating", "address", "place"),
        *("year", "hour", "rooms", "word", "of the URL"),
    )
    pauses = True

    def document(self, number, more=""):
        found = {
            "article number": f"A{number}-{7 * number}",
            "state": "in" if number % 2 else "out",
            "date": f"2024-03-{number + 1:02}",
            "rating": f"{number % 5}/5",
            "address": f"u{number}@x.de",
            "place": f"52.{number}31, 13.{number}77",
            "year": f"{1990 + number}",
            "hour": f"{number + 8}:15",
            "rooms": f"Rooms with bath: {number + 20}",
            # All pages have both words.
            "word": "open" if number % 2 else "shut",
            "of the URL": "",
        }
        hours = "<i>Open or shut, see below.</i>"
        return page("Entry", prose("entry"), f"{hours}<b>{found[self.way]}</b>")

    def parse_document(self, response):
        found = response.css("b::text").get() or str(number_in(response.url))
        return [{"kind": "entry", "content": found}]


class Offers(GeneratedSpider):
    """Pages with one text, some of which come after many others with texts of their own."""

    ways = ("price", "number", "links", "film", "phone", "row", "row after copies")
    settings_of_shape: ClassVar[dict[str, Any]] = {
        "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue"
    }

    def listed(self):
        others = [f"/d/{number}" for number in range(100, 125)] if self.way == "row" else []
        if self.way == "row after copies":
            others = [
                f"/d/{number}{version}" for number in (100, 101) for version in ("", "?a", "?b")
            ]
        return others + super().listed()

    def document(self, number, more=""):
        if number >= 100:
            row = f'<b data-row="row {number}">Row {number}</b>'
            return page(self.named(number), prose(f"document {number}"), row)
        name = self.named(number).replace(" ", "-")
        marked = {
            "price": f"<i>{number + 20}.50 EUR</i>",
            "number": f"<i>{number + 20}.50</i>",
            "links": links([f"/go/{name}", f"/go/to-{name}"], "v"),
            "film": links([f"/watch?v=f00{number}qx{number}", "/"], "v"),
            "phone": links([f"tel:+49-30-555{number:04}", "/"], "v"),
        }
        return page(
            "Offer", prose("offer"), marked.get(self.way, f'<b data-row="row {number}"></b>')
        )

    def parse_document(self, response):
        if self.way == "price":
            return [{"content": response.css("i::text").get()}]
        if self.way == "number":
            return [{"content": float(response.css("i::text").get() or 0)}]
        if self.way.startswith("row"):
            return [{"content": response.css("b").attrib["data-row"], "url": response.url}]
        found = response.css("a.v::attr(href)").getall()
        found = found if self.way == "links" else found[:1]
        return [{"kind": "offer", "content": url.removeprefix("tel:")} for url in found]


class Objects(GeneratedSpider):
    """Pages with one text, whose items have values as objects: one of each page, or two."""

    ways = ("price", "day", "set", "path", "price two", "day two", "time two")
    pauses = True

    def document(self, number, more=""):
        value = (
            f'<b data-price="{number}.25" data-day="2024-05-{number + 1:02}">Adults, children</b>'
        )
        return page("Offer", prose("offer"), f'{value}<a class="f" href="/f/{number}.pdf">File</a>')

    def parse_document(self, response):
        values = response.css("b")[0].attrib
        day = date.fromisoformat(values["data-day"])
        found = {
            "price": Decimal(values["data-price"]),
            "day": day,
            "time": datetime.combine(day, time(19, 30)),
            "set": {values["data-price"]},
            "path": PurePosixPath(response.css("a.f::attr(href)").get() or ""),
        }
        way, *two = self.way.split()
        names = ("adults", "children") if two else ("adults",)
        return [{"name": name, "content": found[way]} for name in names]


class Overlapping(GeneratedSpider):
    """Lists that share an introduction and most entries, each of which is an item."""

    ways = ("names", "numbers", "links", "more")
    pauses = True

    def answer(self, path, request, count):
        if path == "/":
            return super().answer(path, request, count)
        place = number_in(path)
        rows = "".join(
            f'<p class="e"><a href="/e/{number}">{prose(f"entry {number}", 3)}</a>'
            f"<b>{number * (place + 1) % 50}</b></p>"
            for number in range(place % self.documents * 2, place % self.documents * 2 + 9)
        )
        return page("Offers", prose("offers", 150), rows)

    def parse_document(self, response):
        for entry in response.css("p.e"):
            if self.way == "links":
                yield {"content": entry.css("a::attr(href)").get()}
            elif self.way == "numbers":
                number = int(entry.css("b::text").get())
                yield {"content": f"{entry.css('a::text').get()} {number}", "n": number}
            else:
                yield {"content": entry.css("a::text").get(), "page": response.url}
        if self.way == "more":
            yield from response.follow_all(css="p.e a", callback=self.parse_document)


class OneEntry(GeneratedSpider):
    """Pages of one template, each with an entry: hits of a search, or the answers to a question."""

    ways = ("hits", "answers", "late hits")
    follows = False
    pauses = True

    def answer(self, path, request, count):
        if not path.startswith("/e/"):
            return super().answer(path, request, count)
        entry = f"<h3>{self.named(number_in(path) + 100)}</h3>"
        return page("Which mill is open?", prose("search", 120), entry)

    def parse(self, response):
        if self.way == "late hits":
            yield from super().parse(response)
        for number in range(2 * self.documents):
            yield response.follow(f"/e/{number}", self.parse_document, priority=-1)

    def parse_document(self, response):
        item = {"content": response.css("h3::text, h1::text").getall()[-1]}
        if self.way == "answers":
            item["question"] = response.css("h1::text").get()
        return [item]
