"""How the keys of each tool are read from its source: one module a tool, and one a way in which sources say them."""
