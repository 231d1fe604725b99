"""The real texts on which the export of a language model is compared: from its validation sets, then its corpora."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from trimtab.config.corpora import ParallelFiles, TrainCorpus, ValidFiles
from trimtab.data.cache import default_cache
from trimtab.data.corpus import Corpus, open_corpora
from trimtab.data.exact_text import ExactText
from trimtab.data.formats.passage import cuts
from trimtab.errors import InputError, Problem
from trimtab.translator import LoadedModel

TEXTS = 200
LONGEST_BYTES = 400
"""Of a text: long enough to see that positions and newlines are right, and short enough for a CPU."""
TAKEN_FOR_SPACES = "▁"
"""The sign that sentencepiece writes for a space; only trimtab spells one that stands in a text in bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateText:
    """A text with its ids."""

    text: str
    ids: list[int]
    """Without start and end symbol; with the start symbol no more than the model reads."""
    origin: str = ""
    """Where it stands, for the model card: `validation set dev`."""


def gate_texts(model: LoadedModel, given: Path | str | None = None, *, count: int = TEXTS) -> list[GateText]:
    """At most `count` texts, evenly from the file that is given, or from all validation sets and then, where these are
    short, from all corpora; always the same ones.

    Raises InputError where none is found.
    """
    found: list[GateText] = []
    unread: list[Problem] = []
    for kind, files in _sets(model, given):
        try:
            corpora = open_corpora(files, root=Path.cwd(), cache=default_cache(), passage_bytes=LONGEST_BYTES)
        except InputError as error:
            unread += error.problems
            continue
        for place, corpus in enumerate(corpora):
            share = (count - len(found)) // (len(corpora) - place)
            found += _of(corpus, model, share, origin=f"{kind} {corpus.name}")
        if len(found) >= count:
            break
    if not found:
        raise InputError(*unread, _nothing())
    return found


def _sets(
    model: LoadedModel, given: Path | str | None
) -> list[tuple[str, Sequence[ParallelFiles | TrainCorpus]]]:
    data = model.recipe.data
    if given is not None:
        return [("given text", [ValidFiles.model_validate({"text": str(given)})])]
    return [("validation set", list(data.valid.values())), ("training corpus", data.train)]


def _nothing() -> Problem:
    return Problem(
        what="export: no text to compare the export on",
        got="none that can be read, in the validation sets and corpora of the run or what was given",
        allowed="documents, as those of training",
        fix="name other text by --source FILE",
    )


def _of(corpus: Corpus, model: LoadedModel, share: int, *, origin: str) -> Iterator[GateText]:
    """As many texts as are wanted, spread over the corpus."""
    wanted = min(len(corpus), share)
    tokenizer, most = ExactText(model.tokenizer), model.recipe.data.max_tokens - 1
    for number in range(wanted):
        text = _text(corpus, number * len(corpus) // wanted)
        if not text.strip() or TAKEN_FOR_SPACES in text:
            continue
        ids = tokenizer.ids([text])[0]
        while len(ids) > most and len(text) > 1:
            text = text[: len(text) // 2]
            ids = tokenizer.ids([text])[0]
        if 0 < len(ids) <= most:
            yield GateText(text=text, ids=ids, origin=origin)


def _text(corpus: Corpus, number: int) -> str:
    """A passage; or the target of a pair, as much of it as a passage would have."""
    if corpus.has_documents:
        return corpus.passage(number).text
    data = corpus.pair(number)[1].encode()
    start, stop = next(cuts(data, most=LONGEST_BYTES))
    return data[start:stop].decode()
