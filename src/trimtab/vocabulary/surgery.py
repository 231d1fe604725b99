"""`trimtab vocabulary`: a model with fewer pieces or with more, proven to be the old one where both have an answer."""

import lzma
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from trimtab.config.given_path import path_text
from trimtab.config.pretrained.place import GGUF
from trimtab.data.cache import default_cache
from trimtab.data.formats.text import text_of
from trimtab.data.lines import open_lines
from trimtab.errors import input_error
from trimtab.export.draft import check_place, draft_folder
from trimtab.vocabulary.change import Init, VocabularyChange
from trimtab.vocabulary.folder_model import FolderModel
from trimtab.vocabulary.gate import check_changed, require_passed
from trimtab.vocabulary.model import EditableModel, Side
from trimtab.vocabulary.report import CorpusLengths, SideReport, VocabularyReport, write_card
from trimtab.vocabulary.run_model import RunModel
from trimtab.vocabulary.selection import select
from trimtab.vocabulary.vocabulary import Text, Vocabulary, reader_of

A_MODEL = "a run, RUN@last or RUN@500, or a folder in the form of Hugging Face"
SIDES = ("both", "source", "target")


def trim_vocabulary(
    model: Path | str,
    *,
    out: Path | str,
    keep_text: Sequence[Path | str] = (),
    size: int | None = None,
    min_count: int = 1,
    side: str = "both",
) -> VocabularyReport:
    """Writes the model with only the pieces that `keep_text` needs, or with `size` pieces, the most used first.

    Special symbols, added tokens, language codes and bytes stay, as do the letters of the texts' alphabets; byte-pair
    encoding keeps what it joins on its way to a kept piece. So every line of the texts is split as before (unless
    `size` or `min_count` drops some of its pieces), and logits of kept pieces are the same (compare Ushio et al. 2023,
    arXiv 2305.15020). `out` is a run where `model` is one, otherwise a folder in the
    form of Hugging Face; it appears when the written files have been opened again and have passed the gate.

    Raises InputError where the model or a text cannot be used, RunFailed where the gate finds a difference; then
    nothing is there.
    """
    if not keep_text and size is None:
        raise input_error(
            "vocabulary trim: nothing says which pieces to keep",
            got="neither --keep-text nor --size",
            allowed="text whose pieces stay, a number of pieces, or both",
            fix="add --keep-text FILE",
        )
    subject, place = _opened(model, out)
    texts = _read(keep_text)
    changed: dict[Side, tuple[Vocabulary, VocabularyChange]] = {}
    for each in _sides(subject, side, "trim"):
        vocabulary = subject.vocabularies[each]
        change = select(
            vocabulary,
            _with_readers(texts, vocabulary),
            size=size,
            least=min_count,
            special=subject.special(each),
        )
        if len(change.origins) == vocabulary.num_ids:
            raise input_error(
                f"{model}: there is nothing to trim",
                got=f"texts that need all {vocabulary.num_ids:,} pieces, counted with symbols and letters",
                allowed="texts that use fewer",
                fix="give --size, or raise --min-count",
            )
        kept = [id for id in change.origins if isinstance(id, int)]
        changed[each] = vocabulary.trimmed(kept), change
    return _written(subject, place, changed, texts, action="trim", init="mean")


def extend_vocabulary(
    model: Path | str,
    *,
    text: Sequence[Path | str],
    add: int,
    out: Path | str,
    init: Init = "mean",
    side: str = "both",
) -> VocabularyReport:
    """Writes the model with `add` pieces more, which shorten these texts most.

    They continue the training of the tokenizer from the pieces that it makes of the text, so they are reachable;
    characters that had no piece come first. A new row is the mean of the rows of the pieces that it replaces; with
    `norm_matched` it is made as long as they are on average. No new row has been trained: train the model before you
    use it. `out` and errors are those of `trim_vocabulary`.
    """
    if not text:
        raise input_error(
            "vocabulary extend: there is no text to find pieces in", fix="add --text FILE; repeat it for more"
        )
    subject, place = _opened(model, out)
    texts = _read(text)
    changed: dict[Side, tuple[Vocabulary, VocabularyChange]] = {}
    asked = add
    for each in _sides(subject, side, "extend"):
        vocabulary = subject.vocabularies[each]
        here = _with_readers(texts, vocabulary)
        new, change = vocabulary.extended(here, add)
        new, change = _reachable(new, change, here)
        if not change.added:
            raise input_error(
                f"{model}: no new piece was found",
                got=f"{sum(len(one.lines) for one in texts):,} lines, of which no two neighbouring pieces occur twice",
                allowed="text in the language or the domain that is to be added",
                fix="give more text",
            )
        changed[each] = new, change
    return _written(subject, place, changed, texts, action="extend", init=init, asked=asked)


def _opened(model: Path | str, out: Path | str) -> tuple[EditableModel, Path]:
    name = path_text(model, name="model", allowed=A_MODEL)
    folder, place = Path(name).expanduser(), Path(path_text(out, name="out", allowed="a new folder"))
    check_place(place, run=folder)
    if folder.suffix == GGUF:
        raise input_error(
            f"{name}: a GGUF file cannot be changed",
            got="quantized weights in one file",
            allowed=A_MODEL,
            fix="write it in the other form: `AutoModelForCausalLM.from_pretrained(FOLDER, gguf_file=FILE)"
            ".save_pretrained(DIR)`, the tokenizer likewise",
        )
    if (folder / "config.json").is_file():
        return FolderModel.open(folder), place
    return RunModel.open(name), place


def _sides(subject: EditableModel, side: str, action: str) -> list[Side]:
    """The vocabularies to change; InputError for a side of a model that has one for both, and for new pieces that would
    go into both of two."""
    there = [*subject.vocabularies]
    if side not in SIDES or (side != "both" and side not in there):
        raise input_error(
            "--side: not a vocabulary of this model",
            got=side,
            allowed=" or ".join(("both", *(each for each in there if each in SIDES))),
            fix="leave it out",
        )
    if side == "both" and len(there) > 1 and action == "extend":
        raise input_error(
            "--side: source and target have a vocabulary each",
            got="no --side",
            allowed="source or target",
            fix="add `--side target`, with text of that side",
        )
    return there if side == "both" else [side]


def _read(paths: Sequence[Path | str]) -> list[Text]:
    """The lines of files of UTF-8, plain or compressed; InputError for what is none, and where a file has no text."""
    texts: list[Text] = []
    for path in paths:
        lines = open_lines(Path(path), cache=default_cache())
        text = Text(str(path), tuple(text_of(lines, number) for number in range(len(lines))))
        # A vocabulary that is cut to nothing spells no language any more, and no gate has a line to compare.
        if not any(map(str.strip, text.lines)):
            raise input_error(
                f"{path}: there is no text in it",
                got=f"{len(text.lines):,} lines, all of them blank" if text.lines else "an empty file",
                allowed="text in a language of the model",
                fix="name another file",
            )
        texts.append(text)
    return texts


def _with_readers(texts: Sequence[Text], vocabulary: Vocabulary) -> list[Text]:
    return [Text(each.name, each.lines, reader_of(vocabulary, each.lines)) for each in texts]


def _sample() -> list[Text]:
    """Real lines for the gate where no text was given: English and German of the demo's sample."""
    packed = (files("trimtab.demo") / "data" / "heldout.tsv.xz").read_bytes()
    rows = [line.split("\t") for line in lzma.decompress(packed).decode().splitlines()]
    sides = zip(*((row[0], row[1]) for row in rows), strict=True)
    return [
        Text(f"the demo's sample, {name}", lines) for name, lines in zip(("en", "de"), sides, strict=True)
    ]


def _reachable(
    vocabulary: Vocabulary, change: VocabularyChange, texts: Sequence[Text]
) -> tuple[Vocabulary, VocabularyChange]:
    """Without the new pieces that the tokenizer never makes of the texts, not even on its way to others."""
    used: set[int] = set()
    for text in texts:
        for row in vocabulary.encode(text.lines, reader=text.reader):
            used.update(row)
    reached = vocabulary.with_ancestors(used)
    kept = [id for id, origin in enumerate(change.origins) if isinstance(origin, int) or id in reached]
    if len(kept) == len(change.origins):
        return vocabulary, change
    return vocabulary.trimmed(kept), VocabularyChange(tuple(change.origins[id] for id in kept))


def _written(
    subject: EditableModel,
    place: Path,
    changed: Mapping[Side, tuple[Vocabulary, VocabularyChange]],
    texts: Sequence[Text],
    *,
    action: str,
    init: Init,
    asked: int | None = None,
) -> VocabularyReport:
    made = {side: vocabulary for side, (vocabulary, _) in changed.items()}
    changes = {side: change for side, (_, change) in changed.items()}
    proof = {side: _with_readers(texts or _sample(), subject.vocabularies[side]) for side in changes}
    with draft_folder(place) as draft:
        notes = subject.write(draft, made, changes, init=init)
        new = subject.reopened(draft)
        gate = check_changed(subject, new, changes, proof)
        require_passed(gate)
        report = VocabularyReport(
            action=action,
            out=str(place),
            model=subject.label,
            init=init if action == "extend" else None,
            sides={
                side: SideReport.of(subject.vocabularies[side], new.vocabularies[side], change, asked=asked)
                for side, change in changes.items()
            },
            corpora=tuple(
                CorpusLengths.of(text, side, subject.vocabularies[side], new.vocabularies[side])
                for side in changes
                for text in _with_readers(texts, subject.vocabularies[side])
            ),
            before=subject.size(),
            after=new.size(),
            gate=gate,
            notes=notes,
        )
        write_card(report, draft)
    return report
