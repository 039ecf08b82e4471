"""Families of distinct pages that share one template, with some real copies among them.

Pages of a family share long parts (chrome, introductions, terms, consent dialogs); a page's own
part is short (a name, times, prices, a sentence). No page should be dropped but the copies: the
same page with a session in its URL and its links, its print version, its version for telephones,
or the same page under another path.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from quality_lib.templates import consents, naming, notices, reference, shops, sites, timings
from quality_lib.templates.sites import Site, slug

if TYPE_CHECKING:
    from collections.abc import Callable

    from quality_lib.templates.sites import Content

_COPY_EVERY = 8
SESSION, PRINT, PHONE, PATH = "session", "print", "phone", "path"
COPY_KINDS = (SESSION, PRINT, PHONE, PATH)


class Family(NamedTuple):
    """A site and its pages.

    :param own: where the name of a page is found: title and h1, one of them, or neither.
    """

    name: str
    site: Site
    contents: Callable[[random.Random], list[Content]]
    own: str = "title, h1"


class Page(NamedTuple):
    """A page of a family.

    :param original: URL of the page that it is a copy of; its own if it is distinct.
    :param kind: one of `COPY_KINDS`, or empty.
    """

    url: str
    html: str
    content: Content
    original: str
    kind: str = ""


def pages(family: Family, seed: int) -> list[Page]:
    """Return the pages of a family in the order of a crawl; a copy comes after its original."""
    dice = random.Random(f"{seed}/{family.name}")
    contents = family.contents(dice)
    names = [content.name for content in contents]
    dice.shuffle(contents)
    placed: list[tuple[float, Page]] = []
    for number, content in enumerate(contents):
        page = _page(family.site, content, names, dice)
        placed.append((number, page))
        if number % _COPY_EVERY == 0:
            kind = COPY_KINDS[number // _COPY_EVERY % len(COPY_KINDS)]
            copy = _copy(page, kind, family.site, names, dice)
            placed.append((dice.uniform(number, len(contents)), copy))
    return [page for _, page in sorted(placed, key=lambda pair: pair[0])]


def _page(site: Site, content: Content, names: list[str], dice: random.Random) -> Page:
    site = _site_of(site, content)
    url = f"https://{site.host}/{site.folder}/{content.path or slug(content.name)}"
    html = site.layout(sites.frame(site, content, names, dice))
    return Page(url, html, content, url)


def _copy(page: Page, kind: str, site: Site, names: list[str], dice: random.Random) -> Page:
    site = _site_of(site, page.content)
    frame = sites.frame(site, page.content, names, dice)
    path = f"/{site.folder}/{page.content.path or slug(page.content.name)}"
    layout, host = site.layout, site.host
    if kind == SESSION:
        frame = replace(frame, query=f"?sid={dice.getrandbits(96):024x}")
        path += frame.query
    elif kind == PRINT:
        layout, path = sites.print_version, f"{path}/print"
        frame = replace(frame, printed_from=f"Printed from {page.url} on 24 November 2026")
    elif kind == PHONE:
        layout, host = sites.phone_version, "m." + host.removeprefix("www.")
    else:
        path = f"/archive/{dice.randint(2019, 2026)}{path}"
    return Page(f"https://{host}{path}", layout(frame), page.content, page.url, kind)


def _site_of(site: Site, content: Content) -> Site:
    if not content.brand:
        return site
    return replace(site, name=content.brand, host=f"www.{slug(content.brand)}.example")


_RIGHTS = "All rights reserved. Reproduction, even in part, needs our written permission."
FAMILIES = (
    Family(
        "products",
        Site(
            "Harrow & Pine",
            "www.harrowandpine.example",
            "shop",
            "Living room|Bedroom|Kitchen|Hall|Garden|Sale|Gift cards",
            layout=sites.columns,
            title="{name} – {site}",
            footer=(
                "Harrow & Pine furnishes small homes. Showrooms in four towns, open until eight.",
                "Prices include tax and exclude delivery. Subject to errors and to prior sale.",
            ),
            aside="Sign up for our letter and save ten per cent on your first order.",
        ),
        shops.products,
    ),
    Family(
        "colour variants",
        Site(
            "Tideline Clothing",
            "tideline.example",
            "men",
            "New in|Men|Women|Repairs|Second hand|Journal",
            layout=sites.sections,
            title="{name} | {site}",
            footer=("Free repairs for life. Factory visits every first Friday.", _RIGHTS),
        ),
        shops.colour_variants,
    ),
    Family(
        "spare parts",
        Site(
            "Ersa Spares",
            "www.ersaspares.example",
            "parts",
            "Washing machines|Dishwashers|Ovens|Dryers|Manuals|Returns|Help",
            layout=sites.grid,
            title="{site}: {name}",
            footer=("Two million parts for twelve hundred makes. Trade customers: please log in.",),
        ),
        shops.spare_parts,
    ),
    Family(
        "listings",
        Site(
            "Allotment & Attic",
            "www.allotmentandattic.example",
            "list",
            "Outdoors|Workshop|Kitchen|Pets|Clearance|Help",
            layout=sites.weblog,
            title="{name} - {site}",
            footer=("Secure payment by card, invoice or instalments.", _RIGHTS),
            aside="Only this week: free delivery on everything that weighs more than you.",
        ),
        shops.listings,
        own="title (one h1 for ten pages)",
    ),
    Family(
        "Chinese products",
        Site(
            "山间茶舍",
            "www.shanjiancha.example",
            "chanpin",
            "首页|绿茶|红茶|乌龙茶|普洱茶|茶具|联系我们",
            layout=sites.columns,
            title="{name}_{site}",
            footer=("版权所有 山间茶舍 保留一切权利", "客服电话 周一至周五 九点到十八点"),
            lang="zh",
        ),
        shops.chinese_products,
    ),
    Family(
        "timetables",
        Site(
            "Fellside Buses",
            "www.fellsidebuses.example",
            "timetables",
            "Plan a journey|Timetables|Fares|Disruptions|Lost property|About us",
            layout=sites.sections,
            title="{name} | {site}",
            footer=("Fellside Buses is run by the county and its nine towns.",),
            aside="Road works in the valley: expect delays of ten minutes until March.",
        ),
        timings.timetables,
    ),
    Family(
        "league tables",
        Site(
            "Northern Football Archive",
            "northernfootball.example",
            "tables",
            "Tables|Cups|Clubs|Grounds|Programmes|Forum",
            layout=sites.grid,
            title="{name} - {site}",
            footer=("Kept by supporters since 1999. Not connected with any league.",),
        ),
        timings.league_tables,
    ),
    Family(
        "weather",
        Site(
            "Skylark Weather",
            "www.skylarkweather.example",
            "forecast",
            "Maps|Radar|Warnings|Sea|Mountains|Climate|Apps",
            layout=sites.weblog,
            title="{name} · {site}",
            footer=("Model data from the national weather service, maps from open sources.",),
        ),
        timings.weather,
    ),
    Family(
        "calendar",
        Site(
            "Town of Wickenby",
            "www.wickenby.example",
            "events",
            "Town hall|Culture|Sports|Business|Visitors|Contact",
            layout=sites.columns,
            title="{site}: {name}",
            footer=("Wickenby has 8,400 inhabitants and lies 31 metres above the sea.",),
        ),
        timings.calendar,
    ),
    Family(
        "exchange rates",
        Site(
            "Mercer Bank",
            "www.mercerbank.example",
            "rates",
            "Accounts|Loans|Markets|Research|Careers|Press",
            layout=sites.columns,
            title="{name} | Markets | {site}",
            footer=("Mercer Bank is supervised by the financial authority.", _RIGHTS),
        ),
        timings.exchange_rates,
    ),
    Family(
        "departures",
        Site(
            "Coastline Rail",
            "live.coastlinerail.example",
            "board",
            "Tickets|Live|Stations|Bicycles|Groups|Refunds",
            layout=sites.sections,
            title="{site}: live departures",
            logo_is_heading=True,
            footer=("Coastline Rail, a brand of the Associated Coast Railways.",),
        ),
        timings.departures,
        own="neither",
    ),
    Family(
        "duty pharmacies",
        Site(
            "Apothekenportal",
            "www.apothekenportal.example",
            "notdienst",
            "Startseite|Notdienst|Apotheken|Ratgeber|Impfungen|Kontakt",
            layout=sites.weblog,
            title="{name} – {site}",
            footer=("Ein Dienst der Apothekerkammern. Impressum, Datenschutz, Barrierefreiheit.",),
            lang="de",
        ),
        timings.duty_pharmacies,
    ),
    Family(
        "shop locations",
        Site(
            "Hammer & Trowel",
            "www.hammerandtrowel.example",
            "shops",
            "Building|Garden|Bathroom|Paint|Services|Leaflet",
            layout=sites.columns,
            title="{name} - {site}",
            footer=("Hammer & Trowel has 160 shops. Head office: 1 Granary Court, Kelderby.",),
        ),
        timings.store_locations,
    ),
    Family(
        "jobs",
        Site(
            "Whitelock Inns",
            "careers.whitelockinns.example",
            "jobs",
            "All jobs|Apprentices|Students|Our houses|Stories|Log in",
            layout=sites.sections,
            title="{name} | Careers at {site}",
            footer=("Whitelock Inns is an equal opportunities employer.", _RIGHTS),
        ),
        notices.jobs,
    ),
    Family(
        "homes",
        Site(
            "Canal Lettings",
            "www.canallettings.example",
            "to-let",
            "To let|For sale|Landlords|Tenants|Valuation|Team",
            layout=sites.weblog,
            title="{name} | {site}",
            footer=("Members of the association of letting agents.",),
        ),
        notices.homes,
        own="title (one h1 for homes of a kind)",
    ),
    Family(
        "profiles",
        Site(
            "The Long Shed",
            "thelongshed.example",
            "members",
            "Forums|Members|Gallery|Market|Rules|Help",
            layout=sites.columns,
            title="{name} - {site}",
            footer=("Powered by volunteers and too much tea.",),
        ),
        notices.profiles,
    ),
    Family(
        "forum stubs",
        Site(
            "FixItForum",
            "fixitforum.example",
            "threads",
            "Audio|Kitchen|Computers|Garden tools|Log in|Register",
            layout=sites.grid,
            title="{name} - {site}",
            footer=("All posts belong to those who wrote them.",),
        ),
        notices.forum_stubs,
    ),
    Family(
        "recipes",
        Site(
            "Plain Kitchen",
            "plainkitchen.example",
            "recipes",
            "Soups|Bakes|Sides|Puddings|Basics|Shop",
            layout=sites.sections,
            title="{name} | {site}",
            footer=("Plain Kitchen is printed six times a year on recycled paper.",),
        ),
        notices.recipes,
    ),
    Family(
        "API reference",
        Site(
            "Tabula 4.2 documentation",
            "docs.tabula.example",
            "reference",
            "Getting started|User guide|Reference|Changes|Source",
            layout=sites.manual,
            title="{name} — {site}",
            footer=("Built from the sources on 3 November 2026. Licence: BSD.",),
        ),
        reference.api_reference,
    ),
    Family(
        "glossary",
        Site(
            "Sailors' Glossary",
            "glossary.wolfscotemuseum.example",
            "terms",
            "A to H|I to P|Q to Z|Sources|Museum",
            layout=sites.columns,
            title="{name} - {site}",
            logo_is_heading=True,
            footer=("Maritime Museum of Wolfscote, Old Coast Road.",),
        ),
        reference.glossary,
        own="title (h1 is the logo)",
    ),
    Family(
        "catalogue",
        Site(
            "Kingsmoor Public Library",
            "catalogue.kingsmoorlibrary.example",
            "record",
            "Search|My account|Opening hours|E-books|Rooms",
            layout=sites.grid,
            title="{site} / {name}",
            logo_is_heading=True,
            footer=("Kingsmoor Public Library, Fountain Square. Closed on Mondays.",),
        ),
        reference.catalogue,
        own="title (h1 is the logo)",
    ),
    Family(
        "town services",
        Site(
            "Borough of Larkfield",
            "www.larkfield.example",
            "services",
            "Residents|Business|Council|Planning|News|Jobs",
            layout=sites.weblog,
            title="{site} - official website",
            footer=("Borough of Larkfield, Market Place. Telephone 0115 1000.",),
        ),
        reference.town_services,
        own="h1 (constant title)",
    ),
    Family(
        "cookie layer, news",
        Site(
            "The Saltmere Courier",
            "www.saltmerecourier.example",
            "local",
            "Local|County|Sport|Opinion|Notices|Subscribe",
            layout=sites.weblog,
            title="{name} | {site}",
            banner=consents.COOKIE_LAYER,
            footer=("The Saltmere Courier appears on Tuesdays and Fridays.", _RIGHTS),
        ),
        consents.news,
    ),
    Family(
        "consent overlay, films",
        Site(
            "Reel Street",
            "www.reelstreet.example",
            "films",
            "Browse|New|Collections|My list|Vouchers",
            layout=sites.columns,
            title="{name} – watch on {site}",
            banner=consents.CONSENT_OVERLAY,
            footer=("Reel Street streams in 480, 720 and 1080 lines.",),
        ),
        consents.films,
    ),
    Family(
        "privacy dialog, walks",
        Site(
            "Wildmere Walks",
            "walks.wildmere.example",
            "walks",
            "Walks|Maps|Accidents|Shop|Volunteers",
            layout=sites.grid,
            title="{name} - {site}",
            banner=consents.PRIVACY_DIALOG,
            footer=("Wildmere Footpaths Society, founded 1931.",),
        ),
        consents.walks,
    ),
    Family(
        "colours, own headings",
        Site(
            "Fellgate",
            "www.fellgate.example",
            "jackets",
            "Jackets|Trousers|Packs|Repairs|Stories",
            layout=sites.columns,
            title="{name} | {site}",
            footer=("Fellgate makes clothes for hills and harbours.", _RIGHTS),
        ),
        naming.own_headings,
    ),
    Family(
        "quick views",
        Site(
            "Wolle & Leder",
            "wolleleder.example",
            "quickview",
            "Shoes|Boots|Slippers|Care",
            layout=sites.fragment,
            footer=("Sewn by hand.",),
        ),
        naming.quick_views,
        own="neither (fragments)",
    ),
    Family(
        "white labels",
        Site(
            "",
            "",
            "about",
            "Home|Boat|Workshop|Claims|Contact",
            layout=sites.sections,
            footer=("A member of the union of mutual insurers.",),
        ),
        naming.white_labels,
    ),
    Family(
        "currency pairs",
        Site(
            "Kurswert",
            "www.kurswert.example",
            "pair",
            "Currencies|Metals|Alarms|Calculator|About",
            layout=sites.weblog,
            title="{name} - {site}",
            footer=("No advice. Rates are delayed by a minute.",),
        ),
        naming.currency_pairs,
    ),
    Family(
        "scales and compounds",
        Site(
            "The Little Handbook",
            "littlehandbook.example",
            "entry",
            "Music|Chemistry|Editors|Errata",
            layout=sites.manual,
            title="{name} – {site}",
            footer=("Sixth edition.", _RIGHTS),
        ),
        naming.symbols,
    ),
    Family(
        "operators",
        Site(
            "Quill 2.4 reference",
            "docs.quill.example",
            "range",
            "Index|Classes|Functions|Releases",
            layout=sites.manual,
            title="{name} - {site}",
            footer=("Generated from the sources of Quill 2.4.",),
        ),
        naming.operators,
    ),
)
