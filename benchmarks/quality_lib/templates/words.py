"""Words that several families draw from; places, firms and products are invented."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

TOWNS = (
    "Alderwick Ashmoor Barrowby Beckhaven Birchcombe Blackmere Brackenford Bramhurst Brightsea "
    "Calderby Charlcote Chesilton Claymoor Coldbrook Dalewater Deepwell Dunmere Elmscar Fernhollow "
    "Foxbury Garstead Glenfarn Gorsebury Greywell Hartspool Hawksby Hazelcombe Holmeport Kelderby "
    "Kestrelton Kingsmoor Larkfield Linwater Lowscale Marlsea Millhaven Mossgate Netherby "
    "Northwold Oakhollow Otterford Penhallow Quarrydale Ravensea Redscar Rookhope Rushwater "
    "Sandwick Saltmere Sheldrake Silverbeck Skelder Stonegrave Swanhythe Tarnbrook Thornsea "
    "Underwell Wainfleet Westmarsh Whinfell Wickenby Wildmere Windhythe Wolfscote Wrenbury Yarrow"
).split()
STREETS = (
    "Mill Lane|Station Road|Harbour Street|Church Walk|Orchard Row|Quay Street|Market Place|"
    "Tanner's Yard|Bridge Street|Castle Hill|Foundry Road|Priory Close|Weaver Street|North Parade|"
    "Canal Side|School Lane|Abbey Road|Granary Court|Victoria Terrace|Fountain Square|Ferry Road|"
    "Chapel Street|Windmill Rise|Cooper's Way|Park View|Old Coast Road"
).split("|")
COLOURS = (
    "Moss Green|Clay|Midnight Blue|Ochre|Stone|Charcoal|Rust|Ivory|Plum|Sea Glass|Mustard|Slate|"
    "Coral|Pine|Sand|Burgundy"
).split("|")
MONTHS = (
    "January February March April May June July August September October November December"
).split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()


@cache
def words_of(module: str) -> Any:
    """Return the words and texts of a module from words.json."""
    return json.loads(Path(__file__).with_name("words.json").read_bytes())[module]
