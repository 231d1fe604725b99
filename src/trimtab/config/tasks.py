"""What must hold between the task of a recipe and the rest of it."""

from collections.abc import Iterator

from trimtab.config.complain import Complaint
from trimtab.config.decoder_model import DecoderModel
from trimtab.config.run import Recipe
from trimtab.config.task_defaults import IDENTITY
from trimtab.config.tokenizer import ByteTokenizer, SentencePieceTokenizer
from trimtab.metrics.catalogue import OF_THE_LOSS, OF_TRANSLATIONS

FILTERS = ("normalize", "length", "ratio", "character_run")
"""Transforms that rows of source and target may have."""


def task_contradictions(recipe: Recipe) -> Iterator[Complaint]:
    """A model, corpora, a tokenizer, transforms or metrics that are for the other task."""
    checks = (
        (_of_both, _corpora, _tokenizer, _transforms)
        if recipe.is_language_model
        else (_of_both, _translation)
    )
    for check in checks:
        yield from check(recipe)


def _of_both(recipe: Recipe) -> Iterator[Complaint]:
    language_model = recipe.is_language_model
    if language_model != isinstance(recipe.model, DecoderModel):
        wanted = "decoder" if language_model else "encoder_decoder"
        other = "translation" if language_model else "language_model"
        yield Complaint(
            path="model.kind",
            what="a language model has no encoder"
            if language_model
            else "a decoder alone reads no source apart",
            got=f"{recipe.model.kind}, with task {recipe.task}",
            allowed=wanted,
            fix=f"set `model.kind: {wanted}`, or `task: {other}`",
        )
    yield from _metrics(recipe)


def _metrics(recipe: Recipe) -> Iterator[Complaint]:
    of_others = OF_TRANSLATIONS if recipe.is_language_model else OF_THE_LOSS
    texts = any(files.text is not None for files in recipe.data.valid.values())
    if recipe.is_language_model and not texts:
        return
    what = "nothing is translated where a text is gone on with" if texts else "a metric of language models"
    for place, metric in enumerate(recipe.evaluate.metrics):
        if metric in of_others:
            kept = [each for each in recipe.evaluate.metrics if each not in of_others] or ["loss"]
            yield Complaint(
                path=f"evaluate.metrics.{place}",
                what=what,
                got=metric,
                allowed=" or ".join(
                    sorted({"loss", *(OF_THE_LOSS if recipe.is_language_model else OF_TRANSLATIONS)})
                ),
                fix=f"set `evaluate.metrics: [{', '.join(kept)}]`",
            )


def _translation(recipe: Recipe) -> Iterator[Complaint]:
    data = recipe.data
    for name, files in data.valid.items():
        if files.text is not None:
            yield Complaint(
                path="data.valid.text" if name == "valid" else f"data.valid.{name}.text",
                what="a validation set of translation has two sides",
                got=f"text: {files.text}",
                allowed="source and target",
                fix="write both, or `task: language_model`",
            )
    denoised = any(each.kind == "denoise" for each in data.transforms)
    if all(corpus.text is not None for corpus in data.train) and not denoised:
        yield Complaint(
            path="data.train.0.text",
            what="every corpus is in one language, so there is nothing to translate and nothing is spoiled",
            got="text alone, with task translation",
            allowed="a corpus with source and target, or the transform denoise",
            fix="set `task: language_model` and `model: {kind: decoder}`, or add a parallel corpus",
        )
    if isinstance(data.tokenizer, ByteTokenizer):
        yield Complaint(
            path="data.tokenizer.kind",
            what="bytes are for language models",
            got="bytes, with task translation",
            allowed="sentencepiece",
            fix="set `data.tokenizer.kind: sentencepiece`",
        )


def _corpora(recipe: Recipe) -> Iterator[Complaint]:
    if recipe.step.source_tokens_per_micro_batch is not None:
        yield Complaint(
            path="step.source_tokens_per_micro_batch",
            what="a language model has no sources",
            got=str(recipe.step.source_tokens_per_micro_batch),
            fix="remove it",
        )
    for number, corpus in enumerate(recipe.data.train):
        if corpus.text is not None and corpus.tags:
            yield Complaint(
                path=f"data.train.{number}.tags",
                what="a document of a language model has no tags",
                got=" and ".join(corpus.tags),
                allowed="tags of parallel corpora",
                fix="remove them",
            )
    model = recipe.model
    texts_alone = all(corpus.text is not None for corpus in recipe.data.train)
    yield from _sets(recipe, texts_alone=texts_alone)
    if isinstance(model, DecoderModel) and model.prefix == "bidirectional" and texts_alone:
        yield Complaint(
            path="model.prefix",
            what="nothing would be a prefix, since documents have no prompt",
            got="bidirectional, and every corpus is a `text`",
            allowed="causal, or a corpus with source and target, whose sources are prefixes",
            fix="remove it, or add a parallel corpus",
        )


def _sets(recipe: Recipe, *, texts_alone: bool) -> Iterator[Complaint]:
    """Validation sets of a kind that the model never reads in training."""
    for name, files in recipe.data.valid.items():
        path = "data.valid" if name == "valid" else f"data.valid.{name}"
        if files.text is None and texts_alone:
            yield Complaint(
                path=path,
                what="pairs cannot be read by a model that trains on documents alone: its vocabulary has no separator",
                got="source and target",
                allowed="a `text`, or a training corpus with source and target",
                fix="name a `text`, or add pairs to data.train",
            )
        elif files.text is not None and not recipe.reads_texts:
            yield Complaint(
                path=f"{path}.text",
                what="a text cannot be foreseen by a model that trains on pairs alone: it learns targets behind a "
                "source and a separator, and a document has neither, so its score would mean nothing",
                got=f"text: {files.text}",
                allowed="source and target, or a training corpus with a `text`",
                fix="name source and target, or add a `text` to data.train",
            )


def _tokenizer(recipe: Recipe) -> Iterator[Complaint]:
    tokenizer = recipe.data.tokenizer
    if recipe.data.source_tokenizer is not None:
        yield Complaint(
            path="data.source_tokenizer",
            what="source and target stand in one row, so they share one vocabulary",
            got="a tokenizer of the source's own, with task language_model",
            fix="remove it",
        )
    if not isinstance(tokenizer, SentencePieceTokenizer):
        return
    if tokenizer.sampling is not None:
        yield Complaint(
            path="data.tokenizer.sampling",
            what="a language model reads each text in one way, or its likelihood means nothing",
            got=tokenizer.sampling.kind,
            allowed="no sampling, with task language_model",
            fix="remove it",
        )
    if tokenizer.path is None and not tokenizer.byte_fallback:
        yield Complaint(
            path="data.tokenizer.byte_fallback",
            what="without it some characters are unknown, and a text does not come back as it was",
            got="false, with task language_model",
            allowed="true",
            fix="remove it; true is the default",
        )
    if tokenizer.path is None and tokenizer.normalization != IDENTITY:
        yield Complaint(
            path="data.tokenizer.normalization",
            what="a text would not come back as it was",
            got=f"{tokenizer.normalization}, with task language_model",
            allowed=IDENTITY,
            fix=f"remove it; {IDENTITY} is the default of this task",
        )


def _transforms(recipe: Recipe) -> Iterator[Complaint]:
    texts = any(corpus.text is not None for corpus in recipe.data.train)
    for place, transform in enumerate(recipe.data.transforms):
        if texts or transform.kind not in FILTERS:
            yield Complaint(
                path=f"data.transforms.{place}",
                what="documents are learned as they are" if texts else "a transform for encoder-decoders",
                got=f"{transform.kind}, with task language_model",
                allowed="no transform beside a `text`" if texts else " or ".join(FILTERS),
                fix="remove it",
            )
