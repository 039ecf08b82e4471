"""The English near-duplicates: the kind, the article and the edits of each.

Their resemblances to the articles are from 0.80 to 0.99; `python -m example.demosite --check`
prints them.
"""

from __future__ import annotations

from .plants import Plant
from .text import add, cut, headline, order, swap, without_captions

# The article at a URL with a session id, after a small update.
SESSIONS = (
    Plant("session", "en-ferry", (swap("240 passengers", "236 passengers"),)),
    Plant(
        "session",
        "en-seagrass",
        (
            swap(
                "So far nineteen of forty-four have agreed, and their names",
                "By Thursday twenty-six of forty-four had agreed, and the names of all",
            ),
            swap("About 180 volunteers have", "Some 190 volunteers have"),
        ),
    ),
    Plant(
        "session",
        "en-football",
        (
            swap("1,860 spectators", "1,912 spectators"),
            add(
                "Correction, Monday 18:40: an earlier version of this report counted only those "
                "who had paid at the gate. The club has since added the children on the wall, "
                "and we have changed the figure.",
            ),
        ),
    ),
    Plant(
        "session",
        "en-flood",
        (
            swap("a tide of 3.84 metres, nine", "a tide of 3.86 metres, eleven"),
            swap("seventeen cellars, most of them", "twenty-three cellars, nearly all"),
            add(
                "Update, Friday noon: all four gates stand open again, and the ferry has resumed "
                "its crossings. The road along the embankment remains closed between the brewery "
                "and the weir until the surveyors have looked at it.",
                at=0,
            ),
        ),
    ),
)

# Print versions: another template, mostly no captions, and a line that names the source (build.py).
PRINTS = (
    Plant("print", "en-library", (without_captions, swap("a brass quintet", "a quintet"))),
    Plant(
        "print",
        "en-lighthouse",
        (
            without_captions,
            swap(
                ", slightly green as the old glass is, so that a visitor has to know where to "
                "look in order to tell them apart",
                "",
            ),
        ),
    ),
    Plant("print", "en-nightbus", (without_captions,)),
    Plant("print", "en-radio", (swap("about an island that is", "on an island that is"),)),
)

# The mirror host holds older revisions.
MIRRORS = (
    Plant(
        "mirror",
        "en-bakery",
        (
            swap("The cooperative has 214 members", "The cooperative has 209 members"),
            swap("It stands at 3.70.", "It stands at 3.60."),
        ),
    ),
    Plant(
        "mirror",
        "en-wreck",
        (
            swap("has begun to preserve 160 timbers", "is about to preserve 148 timbers"),
            swap(
                " A taster invited by the museum declined to go any further than looking at it.", ""
            ),
        ),
    ),
    Plant(
        "mirror",
        "en-bees",
        (
            swap("harvest this year came to 212 kilos", "harvest last year came to 140 kilos"),
            swap(
                "Nobody has been stung badly so far, apart from an inspector who had come about "
                "the fire extinguishers and opened the wrong box.",
                "So far nobody has been stung.",
            ),
            swap(
                " A physiotherapist reports that people who refuse to climb stairs for her will "
                "climb them for the queen.",
                "",
            ),
        ),
    ),
)

# Copies that a partner site published, edited by its own desk.
SYNDICATED = (
    Plant(
        "syndicated",
        "en-ferry",
        (
            headline("Silent ship on the strait"),
            swap(
                "The first ferry without a funnel crossed the strait on Tuesday morning with "
                "nobody on board but engineers, two deck officers and forty sacks of sand "
                "standing in for passengers.",
                "A battery ferry has made its first crossing of the strait, loaded with sacks of "
                "sand in place of passengers.",
            ),
        ),
    ),
    Plant("syndicated", "en-radio", (headline("The island with a studio in its pantry"), cut(-1))),
    Plant(
        "syndicated",
        "en-school-meals",
        (
            headline("Lunch from behind the gymnasium"),
            add("Editor's note: this story first appeared in a partner paper.", at=0),
        ),
    ),
    Plant(
        "syndicated",
        "en-lighthouse",
        (
            headline("Back on the rock: 512 prisms and a pot of tea"),
            swap(
                "It took eight people, a crane with rubber slings and most of a windless day to "
                "lift the lens of the Outer Rock lighthouse back to the room it had left in 1971.",
                "The lens of the Outer Rock lighthouse is back in its room after half a century.",
            ),
        ),
    ),
)

# The quick-read edition: the same paragraphs in another order, and small edits.
REORDERED = (
    Plant(
        "reordered",
        "en-library",
        (order(0, 5, 6, 2, 1, 3, 4), swap("cost 4.2 million", "cost more than four million")),
    ),
    Plant(
        "reordered", "en-wreck", (order(0, 1, 6, 5, 2, 3, 4), swap("end of May", "end of April"))
    ),
    Plant("reordered", "en-bees", (order(0, 5, 1, 2, 3, 4), swap("for six, and", "for 6.50, and"))),
)

PLANTS = SESSIONS + PRINTS + MIRRORS + SYNDICATED + REORDERED
