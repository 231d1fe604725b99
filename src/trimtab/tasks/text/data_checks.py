"""Checks of text before the first step for which no model runs."""

from collections.abc import Iterator

from trimtab.data.corpus_findings import ListedPairs, corpus_findings
from trimtab.data.shared_passages import documents_in_training
from trimtab.data.tags import untagged_sets
from trimtab.finding import Finding
from trimtab.tasks.examples import Checked
from trimtab.tasks.text.lines import blank_references, dropped_examples, unknown_pieces
from trimtab.tasks.text.symbols import symbols_are_apart, text_comes_back


def data_checks(parts: Checked) -> Iterator[Finding]:
    """What the vocabularies, the first examples, the corpora and the validation sets show."""
    yield from unknown_pieces(parts)
    yield from dropped_examples(parts)
    yield from blank_references(parts)
    yield from symbols_are_apart(parts)
    yield from text_comes_back(parts)
    valid = [ListedPairs(v.name, v.tags, v.sources, v.references) for v in parts.sources.valid.values()]
    pairs = [corpus for corpus in parts.sources.corpora if not corpus.has_documents]
    yield from corpus_findings(pairs, [each for each in valid if len(each)])
    texts = {name: v.documents for name, v in parts.sources.valid.items() if v.documents is not None}
    yield from documents_in_training(parts.sources.corpora, texts)
    yield from untagged_sets(parts.recipe.data)
