"""Fixes files: an edit said by keys becomes characters, and all the rest of the file stays as it is.

fix         rounds of edits, each held against what it should have done
apply        chooses by syntax
yaml | json | python | shell      where a key stands, and what to write there
mapping      edits of the mappings of YAML and JSON
tree         what an edit means, without text
"""
