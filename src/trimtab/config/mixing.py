"""Contradictions in how corpora are mixed, corrupted and randomly split."""

from collections.abc import Iterator, Sequence

from trimtab.config.complaint import Complaint
from trimtab.config.run import Recipe
from trimtab.config.sampling import BpeDropout
from trimtab.config.tokenizer import SentencePieceTokenizer
from trimtab.config.transforms import DenoiseTransform, LanguageFilter


def mixing_contradictions(recipe: Recipe) -> Iterator[Complaint]:
    """Stages, noise and sampling that contradict the corpora or the tokenizers of the recipe."""
    for check in (_stages, _denoise, _judged, _sampling):
        yield from check(recipe)


def _stages(recipe: Recipe) -> Iterator[Complaint]:
    """A list of stages covers the run without a gap, and each of them reads something."""
    stages, weights = recipe.data.stages, {each.name: each.weight for each in recipe.data.train if each.name}
    unnamed = any(not each.name for each in recipe.data.train)
    before = 0
    for index, stage in enumerate(stages):
        path, last = f"data.stages.{index}", index == len(stages) - 1
        for name in stage.weights.keys() - weights.keys():
            yield Complaint(
                path=f"{path}.weights.{name}",
                what="no corpus has this name",
                got=repr(name),
                allowed=" or ".join(weights) or "none, because no corpus of `data.train` has a `name`",
                fix="give the corpus this `name` in `data.train`, or name another",
            )
        if not unnamed and not any((weights | stage.weights).values()):
            yield Complaint(
                path=f"{path}.weights",
                what="every corpus is left out",
                got="a weight of 0 for each",
                fix="give at least one corpus a weight above 0",
            )
        end = stage.until.steps if stage.until is not None else None
        if (end is None) != last or (end is not None and end <= before):
            yield Complaint(
                path=f"{path}.until",
                what="the last stage runs to the end" if last else "each stage ends after the one before it",
                got=str(stage.until or "nothing"),
                allowed="nothing" if last else f"more than {before} steps",
                fix="leave it out, or add another stage" if last else "give the step at which the stage ends",
            )
        before = end or before


def _denoise(recipe: Recipe) -> Iterator[Complaint]:
    train = recipe.data.train
    names = [corpus.name for corpus in train if corpus.name]
    for index, transform in enumerate(recipe.data.transforms):
        if not isinstance(transform, DenoiseTransform):
            continue
        path = f"data.transforms.{index}"
        for number, corpus in enumerate(train):
            if "<mask>" in (*corpus.tags, *corpus.reverse_tags):
                yield Complaint(
                    path=f"data.train.{number}.tags",
                    what="denoise uses the symbol for masked text, so it cannot be a tag too",
                    got="<mask>",
                    allowed="another word, such as <masked>",
                    fix="choose another tag",
                )
        if unknown := [name for name in transform.only if name not in names]:
            yield _no_such_corpus(f"{path}.only", unknown, names)
        elif not any(transform.is_for(corpus) for corpus in train):
            yield Complaint(
                path=path,
                what="no corpus that it applies to",
                got="no corpus of `data.train` that is given as `text`",
                fix="add one such as `{text: mono.de, tags: [<denoise>]}`, or name others in `only`",
            )


def _judged(recipe: Recipe) -> Iterator[Complaint]:
    """A filter by language judges corpora that there are."""
    names = [corpus.name for corpus in recipe.data.train if corpus.name]
    for index, transform in enumerate(recipe.data.transforms):
        if isinstance(transform, LanguageFilter) and (
            unknown := [name for name in transform.only if name not in names]
        ):
            yield _no_such_corpus(f"data.transforms.{index}.only", unknown, names)


def _no_such_corpus(path: str, unknown: Sequence[str], names: Sequence[str]) -> Complaint:
    return Complaint(
        path=path,
        what="no corpus has this name",
        got=" and ".join(unknown),
        allowed=" or ".join(names) or "none, because no corpus of `data.train` has a `name`",
        fix="give the corpus this `name` in `data.train`, or name another",
    )


def _sampling(recipe: Recipe) -> Iterator[Complaint]:
    """How lines are split by chance fits the kind of model that is going to be trained; of a given one it is seen
    when it is opened."""
    data, own = recipe.data, recipe.data.source_tokenizer is not None
    for key, tokenizer in (("tokenizer", data.tokenizer), ("source_tokenizer", data.source_tokenizer)):
        sampling = tokenizer.sampling if isinstance(tokenizer, SentencePieceTokenizer) else None
        if not isinstance(tokenizer, SentencePieceTokenizer) or sampling is None:
            continue
        path = f"data.{key}.sampling"
        fits = "bpe" if isinstance(sampling, BpeDropout) else "unigram"
        if tokenizer.path is None and tokenizer.model != fits:
            yield Complaint(
                path=f"{path}.kind",
                what=f"does not fit a {tokenizer.model} model",
                got=sampling.kind,
                allowed="subword_regularization for a unigram model, bpe_dropout for a bpe model",
                fix=f"write the other, or set `data.{key}.model: {fits}`",
            )
        other = "target" if key == "source_tokenizer" else "source"
        if own and sampling.sides == other:
            yield Complaint(
                path=f"{path}.sides",
                what=f"this tokenizer is not that of the {other}",
                got=other,
                allowed="both, or " + ("source" if other == "target" else "target"),
                fix=f"write the sampling under the {other}'s tokenizer",
            )
