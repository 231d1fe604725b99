"""The linter: other tools' configurations and our own, told in one language, and rules about them.

check | mend_files | convert        what the commands call: a report, fixed files, a recipe
say                                 output: text, JSON, SARIF, annotations; pages, tips, symptoms
findings | silence | baseline | fix what rules say, what is taken out of it, and what becomes of the file
selection | catalogue               which rules run; all rules by code, name and alias
rules                               one file a rule: its page, its check, its example
files | walk | surroundings         which files, what stands beside them, and the versions that count
examine                             bytes of a file -> document -> descriptions
kinds                               one file a tool's configuration; `keys` holds what each tool knows
read                                one file a syntax
description | document | rule       the words that all of these share, and in `concepts` those of a run
"""
