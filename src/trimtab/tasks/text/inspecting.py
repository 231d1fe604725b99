"""The pairs of a recipe on text, looked at before a run: counts, lengths, what would be dropped."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from trimtab.config.run import Recipe
from trimtab.config.tokenizer import ByteLevel, SentencePieceTokenizer, Tokenizer
from trimtab.data.cache import default_cache
from trimtab.data.chat_rows import ChatRows
from trimtab.data.checks import check_data
from trimtab.data.clean import readable_lines
from trimtab.data.corpus import Corpus
from trimtab.data.inspect import Report, inspect_data
from trimtab.data.inspect_chats import inspect_chats
from trimtab.data.stages import plan_stages, shares_of
from trimtab.data.transforms.plan import plan_transforms
from trimtab.errors import InputError, Problem
from trimtab.progress import Progress
from trimtab.tasks.text.datasets import TextKind, open_all

MOST_PROBLEMS = 1000
"""So many unreadable lines are named; a file with more of them is another file than the recipe means."""


def inspect_text(kind: TextKind, recipe: Recipe, *, limit: int, progress: Progress) -> Report:
    """Looks at `limit` pairs of each corpus as the task reads them; see `inspection.inspect_recipe`."""
    recipe = _hasty(recipe, limit)
    train, valid = open_all(recipe, passage_bytes=kind.passage_bytes(recipe.data), check=check_all_lines)
    # Validation sets are called as the recipe calls them.
    valid = [replace(corpus, name=name) for name, corpus in zip(recipe.data.valid, valid, strict=True)]
    pairs, held = [[each for each in corpora if not each.has_documents] for corpora in (train, valid)]
    # Filters that ask for the corpus are refused beside documents, so the numbers are those of all corpora.
    planned: dict[str, Any] = {"cache": default_cache(), "report": progress.message}
    pipeline = plan_transforms(recipe.data.transforms, pairs, columns=recipe.data.factor_columns, **planned)
    with tempfile.TemporaryDirectory() as folder:
        tokenizers = kind.prepare_tokenizers(
            recipe.data, train, pipeline, folder=Path(folder), progress=progress
        )
        report = inspect_data(
            pairs,
            pipeline=pipeline,
            tokenizers=tokenizers,
            max_tokens=recipe.data.max_tokens,
            one_row=kind.one_row,
            valid=held,
            limit=limit,
        )
    if told := [corpus for corpus in train if corpus.learns_answers]:
        chats = ChatRows.of(tokenizers.target, max_tokens=recipe.data.max_tokens)
        report = replace(report, chats=inspect_chats(told, chats, limit=limit))
    stages = plan_stages(recipe.data, train, seed=recipe.data_seed)
    progress.message("checking every line")
    checks = check_data(pairs, held)
    return replace(report, checks=checks, stages=shares_of(stages, [corpus.name for corpus in train]))


def check_all_lines(corpus: Corpus) -> None:
    """InputError with every line of the corpus that cannot be read, `MOST_PROBLEMS` at most, or whose word alignments
    do not fit it; of documents, which are read in passages, a sample is checked."""
    if corpus.has_documents:
        corpus.check()
        return
    problems: list[Problem] = []
    for _ in readable_lines(corpus, lambda line, error: problems.extend(error.problems)):
        if len(problems) >= MOST_PROBLEMS:
            break
    if problems:
        raise InputError(*problems)


def _hasty(recipe: Recipe, limit: int) -> Recipe:
    target, source = recipe.data.tokenizer, recipe.data.source_tokenizer
    update = {"tokenizer": _of_lines(target, 2 * limit if source is None else limit)}
    if source is not None:
        update["source_tokenizer"] = _of_lines(source, limit)
    data = recipe.data.model_copy(update=update)
    return recipe.model_copy(update={"data": data})


def _of_lines(tokenizer: Tokenizer, limit: int) -> Tokenizer:
    if not isinstance(tokenizer, SentencePieceTokenizer | ByteLevel):
        return tokenizer
    return tokenizer.model_copy(update={"training_lines": min(tokenizer.training_lines, limit)})
