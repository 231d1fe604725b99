"""Five lines through the whole of decoding, with the untrained model."""

from collections.abc import Iterator

from trimtab.errors import TrimtabError
from trimtab.finding import Finding
from trimtab.inference import Translator
from trimtab.run_findings.preflight import DECODING_FAILS
from trimtab.tasks.examples import Checked


def five_lines(parts: Checked) -> Iterator[Finding]:
    """Lines of the first validation set of pairs, or one of training where there is none."""
    if not parts.recipe.translates:
        return  # a text is gone on with, and nothing is translated
    valid = next((each for each in parts.datasets.valid.values() if each.sources), None)
    pairs = next(each for each in parts.datasets.corpora if not each.has_documents)
    lines = valid.sources[:5] if valid else [pairs.pair(0)[0]]
    parts.model.eval()
    try:
        Translator.of(
            parts, parts.evaluation_model.copy().eval(), beam=2, tags=valid.tags if valid else ()
        ).translate([line[:200] for line in lines])
    except TrimtabError as error:
        yield DECODING_FAILS.found(f"five lines could not be translated: {error}", fix="")
