"""Files taken apart by their syntax: bytes to a `Document`, one file a syntax; nothing is ever run or imported.

document     decides the syntax, and refuses what no configuration is
yaml | json  text -> nodes -> tree and entries; `dialects` reads the scalars again as another tool does
python | notebook | shell       text -> calls
"""
