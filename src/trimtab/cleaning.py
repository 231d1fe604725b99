"""The pairs of a recipe or of two files, cleaned without training: what each filter drops, and what is kept."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from trimtab.config.corpora import TrainCorpus
from trimtab.config.corpus_filters import CopyFilter, DuplicateFilter, LanguageFilter, LettersFilter
from trimtab.config.languages import known_languages, labels_of
from trimtab.config.load import LoadedRecipe
from trimtab.config.paths import resolve_paths
from trimtab.config.transforms import (
    CharacterRunFilter,
    LengthFilter,
    NormalizeTransform,
    RatioFilter,
    Transform,
)
from trimtab.config.written import lines_added
from trimtab.data.cache import default_cache
from trimtab.data.clean import clean_corpora, readable_lines
from trimtab.data.clean_report import CleanReport, render_clean
from trimtab.data.corpus import Corpus, open_corpora
from trimtab.data.transforms.plan import plan_transforms
from trimtab.errors import input_error
from trimtab.export.draft import draft_folder
from trimtab.progress import Progress, Silent

__all__ = ["CleanReport", "clean_files", "clean_recipe", "render_clean"]


def clean_recipe(
    loaded: LoadedRecipe, *, out: str | os.PathLike[str] | None = None, progress: Progress | None = None
) -> CleanReport:
    """Reads every training pair of a recipe and counts what each filter of `data.transforms` drops, with examples;
    lines that cannot be read, at which training would stop, are dropped too. No model is trained, no tokenizer either.

    `out` is a new folder for the kept pairs, as the files have them, and for a table of what each reason dropped. Texts
    of a language model are left out. Raises InputError if a file cannot be opened or there are no pairs.
    """
    recipe = resolve_paths(loaded)
    with lines_added(loaded):
        texts = [corpus.text is not None and recipe.facts.continues_texts for corpus in recipe.data.train]
        if all(texts):
            raise input_error(
                "data.train: has documents; trimtab cleans pairs",
                got="task: language_model, with texts only",
                allowed="a recipe with source and target among data.train",
                fix="name source and target, or clean the text by other means",
            )
        kept = [number for number, is_text in enumerate(texts) if not is_text]
        return _cleaned(
            [recipe.data.train[number] for number in kept],
            () if any(texts) else recipe.data.transforms,
            keys=[f"data.train.{number}" for number in kept],
            out=None if out is None else Path(out),
            progress=progress or Silent(),
        )


def clean_files(
    source: str | os.PathLike[str] | int,
    target: str | os.PathLike[str] | int,
    *,
    pairs: str | os.PathLike[str] | None = None,
    source_language: str | None = None,
    target_language: str | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> CleanReport:
    """As `clean_recipe`, for two aligned files, or two columns (or languages) of the file `pairs`, by the filters of
    `usual_filters`. A column by number is an int, from 1."""
    config = _corpus(_side(source), _side(target), pairs=None if pairs is None else os.fspath(pairs))
    filters = usual_filters(source_language, target_language)
    out = None if out is None else Path(out)
    return _cleaned([config], filters, keys=(), out=out, progress=progress or Silent())


def _corpus(source: str | int, target: str | int, *, pairs: str | None) -> TrainCorpus:
    try:
        return TrainCorpus(source=source, target=target, pairs=pairs)
    except ValidationError as error:
        said = str(error.errors()[0]["msg"]).removeprefix("Value error, ")
        beside = "" if pairs is None else f" of {pairs}"
        raise input_error(
            f"data clean: {said}",
            got=f"source {source!r} and target {target!r}{beside}",
            allowed="two text files; or, with `pairs`, two columns, fields or languages of that file",
            fix="name both sides; columns are counted from 1",
        ) from None


def _side(given: str | os.PathLike[str] | int) -> str | int:
    return given if isinstance(given, int) else os.fspath(given)


def usual_filters(
    source_language: str | None = None, target_language: str | None = None
) -> tuple[Transform, ...]:
    """What most corpora are cleaned by: duplicates, copies, sides of more than 1,000 characters or of very different
    lengths, long runs of a character, what is hardly text; and lines of another language where one is given.

    Raises InputError for a language that is not known.
    """
    for option, code in (("--source-language", source_language), ("--target-language", target_language)):
        if code is not None and not labels_of(code):
            raise input_error(
                f"{option}: a language that trimtab cannot identify",
                got=code,
                allowed=f"a code such as en, deu or pt-BR, of {', '.join(known_languages())}",
                fix=f"write the code of the language, or leave {option} out",
            )
    languages = source_language or target_language
    return (
        NormalizeTransform(),
        DuplicateFilter(),
        CopyFilter(),
        LengthFilter(unit="characters", max=1000),
        RatioFilter(),
        CharacterRunFilter(),
        LettersFilter(),
        *([LanguageFilter(source=source_language, target=target_language)] if languages else []),
    )


def _cleaned(
    configs: Sequence[TrainCorpus],
    transforms: Sequence[Transform],
    *,
    keys: Sequence[str],
    out: Path | None,
    progress: Progress,
) -> CleanReport:
    if out is not None and os.path.lexists(out):
        raise input_error(
            f"--out {out}: already exists",
            got="a folder" if out.is_dir() else "a file",
            allowed="a new folder",
            fix="name another folder, or remove this one",
        )
    if factored := next((each for each in configs if each.factors or each.factor_separator), None):
        raise input_error(
            "data clean: files of source factors would no longer be aligned with the pairs that are kept",
            got=", ".join(factored.factors) or "factor_separator",
            allowed="corpora without `factors` and `factor_separator`",
            fix="clean the pairs first, and write the factors of what is kept",
        )
    cache = default_cache()
    corpora = open_corpora(configs, root=Path.cwd(), cache=cache, keys=keys, keep_broken=True)
    pipeline = plan_transforms(transforms, corpora, cache=cache, report=progress.message, read=_passing_over)
    if out is None:
        return clean_corpora(corpora, configs, pipeline, report=progress.message)
    with draft_folder(out) as folder:
        return clean_corpora(corpora, configs, pipeline, folder=folder, out=str(out), report=progress.message)


def _passing_over(corpus: Corpus) -> Iterator[tuple[int, tuple[str, str]]]:
    """The lines that can be read."""
    return readable_lines(corpus, lambda line, error: None)
