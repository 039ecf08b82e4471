"""The permuted tables of Manku, Jain and Das Sarma (WWW 2007, section 3), as sorted arrays.

Start with `scrapy_simhash.index.tables.tables.Tables`. Their files are a cache in the folder of the
database: its entries make the tables again if files are missing, damaged or made for another index.
This module needs no numpy.
"""

FOLDER = "tables"
