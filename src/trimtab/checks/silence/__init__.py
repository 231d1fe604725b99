"""Findings that the user accepts, and why.

apply        takes them out, and tells of suppressions that are wrong or idle
comment      `# trimtab: allow S104 because it is a smoke test`
pyproject    `[tool.trimtab.check] allow = [{rule = ..., because = ..., files = ...}]`
pages        the rules that suppressions themselves are held to: C190 to C194
"""
