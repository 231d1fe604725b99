"""Source factors, and what they cannot be combined with."""

from collections.abc import Iterator

from trimtab.config.complaint import Complaint
from trimtab.config.corpora import ParallelFiles
from trimtab.config.run import Recipe
from trimtab.config.source_factors import file_names
from trimtab.config.tokenizer import ByteLevel

KEY = "data.source_factors"
CHANGES_WORDS = {
    "context": "puts other sentences before the words",
    "denoise": "leaves words out and moves them",
}
"""Transforms after which the words of a source are not those that have factors, by their kind."""
HIDES_WORDS = {"protect": "puts symbols in the place of words, whose factors are in a file"}


def factor_contradictions(recipe: Recipe) -> Iterator[Complaint]:
    """What keeps source factors from being read or embedded."""
    data = recipe.data
    for path, files in data.files_by_key.items():
        yield from _files(path, files, file_names(data.source_factors))
    if not data.source_factors:
        return
    if recipe.model.kind != "encoder_decoder":
        yield Complaint(
            path=KEY,
            what="only trimtab's own translators read source factors",
            got=f"source factors, with `task: {recipe.task}` and `model.kind: {recipe.model.kind}`",
            allowed="`task: translation` with `model: {kind: encoder_decoder}`",
            fix=f"remove `{KEY}`",
        )
        return
    if isinstance(data.tokenizer, ByteLevel):
        yield Complaint(
            path="data.tokenizer.kind",
            what="source factors need a vocabulary of sentencepiece",
            got=f"{data.tokenizer.kind}, with `{KEY}`",
            allowed="sentencepiece",
            fix=f"set `data.tokenizer.kind: sentencepiece`, or remove `{KEY}`",
        )
    changed = CHANGES_WORDS | (HIDES_WORDS if file_names(data.source_factors) else {})
    for number, transform in enumerate(data.transforms):
        if (why := changed.get(transform.kind)) is not None:
            yield Complaint(
                path=f"data.transforms.{number}",
                what=f"the transform {transform.kind} {why}",
                got=f"{transform.kind}, with `{KEY}`",
                allowed="one of them",
                fix=f"remove the transform, or `{KEY}`",
            )
    for number, corpus in enumerate(data.train):
        if corpus.both_directions:
            yield Complaint(
                path=f"data.train.{number}.both_directions",
                what="source factors are of one language, and this corpus is read both ways",
                got=f"true, with `{KEY}`",
                allowed="false",
                fix=f"remove `both_directions` and train a run for each direction, or remove `{KEY}`",
            )
    yield from _widths(recipe)


def _files(path: str, files: ParallelFiles, wanted: tuple[str, ...]) -> Iterator[Complaint]:
    """A file for each factor that is read from one, and no other."""
    for name in files.factors:
        if name not in wanted:
            yield Complaint(
                path=f"{path}.factors.{name}",
                what="no source factor of this name is read from files",
                got=name,
                allowed=", ".join(wanted) or f"none, since `{KEY}` names no factor with `kind: file`",
                fix=f"add `{{kind: file, name: {name}}}` to `{KEY}`, or remove the file",
            )
    missing = [name for name in wanted if name not in files.factors]
    if files.factor_separator is not None:
        missing = []
        if not wanted:
            yield Complaint(
                path=f"{path}.factor_separator",
                what="no source factor is read from files",
                got=files.factor_separator,
                allowed=f"a factor with `kind: file` in `{KEY}`",
                fix=f"add `{{kind: file, name: pos}}` to `{KEY}`, or remove it",
            )
    if missing:
        named = ", ".join(f"{name}: FILE" for name in (*files.factors, *missing))
        yield Complaint(
            path=f"{path}.factors" if files.factors else path,
            what=f"has no file for the source factor{'s' * (len(missing) > 1)} {', '.join(missing)}",
            got=", ".join(files.factors) or "no `factors`",
            allowed=", ".join(wanted),
            fix=f"add `factors: {{{named}}}`, or `factor_separator: '|'` where the source has them behind its words",
        )
    if (files.factors or files.factor_separator) and files.kind.key in ("text", "documents", "images"):
        yield Complaint(
            path=f"{path}.factors",
            what=f"a corpus given as `{files.kind.key}` has no words that a file could be aligned with",
            got=f"factors beside `{files.kind.key}`",
            allowed="factors beside source and target",
            fix="name the corpus by source and target, or remove the factor",
        )


def _widths(recipe: Recipe) -> Iterator[Complaint]:
    """What is appended to an embedding has to leave room for it, in a table that the target does not share."""
    appended = [each for each in recipe.data.source_factors if each.combine == "concat"]
    if not appended:
        return
    if recipe.model.tie_embeddings == "all":
        written = "tie_embeddings" in recipe.model.model_fields_set
        yield Complaint(
            path="model.tie_embeddings",
            what="with `combine: concat` the embeddings of the source are narrower than those of the target",
            got="all" + ("" if written else ", the default"),
            allowed="decoder (target and output share one), or none",
            fix="set `model.tie_embeddings: decoder`, or `combine: sum`",
        )
    total = sum(each.dim or 0 for each in appended)
    if total >= recipe.model.dim:
        yield Complaint(
            path=KEY,
            what="the embeddings of the factors leave no room for those of the pieces",
            got=f"dim {total} in all, with `model.dim: {recipe.model.dim}`",
            allowed=f"less than {recipe.model.dim} in all",
            fix="lower the `dim` of the factors; 8 to 64 is usual",
        )
