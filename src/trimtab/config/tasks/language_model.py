"""Language models: what corpora, tokenizer and transforms they take."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trimtab.config.complaint import Complaint
from trimtab.config.task_record import IDENTITY, TaskFacts
from trimtab.config.tokenizer import ByteLevel, PretrainedTokenizer, SentencePieceTokenizer

if TYPE_CHECKING:
    from trimtab.config.run import Recipe

FILTERS = (
    *("normalize", "length", "ratio", "character_run"),
    *("duplicate", "copy", "language", "letters", "word_length"),
)
"""Transforms that rows of source and target may have."""


def language_model_contradictions(recipe: "Recipe") -> Iterator[Complaint]:
    """Corpora, a tokenizer or transforms that are for another task."""
    for check in (_corpora, _answers, _tokenizer, _transforms):
        yield from check(recipe)


def _corpora(recipe: "Recipe") -> Iterator[Complaint]:
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
                what="documents of a language model have no tags",
                got=" and ".join(corpus.tags),
                allowed="tags of parallel corpora",
                fix="remove them",
            )
    model = recipe.model
    texts_alone = all(corpus.text is not None for corpus in recipe.data.train)
    yield from _sets(recipe, texts_alone=texts_alone)
    if model.reads_prefix and texts_alone:
        yield Complaint(
            path="model.prefix",
            what="there is no prefix, since documents have no prompt",
            got="bidirectional, and every corpus is a `text`",
            allowed="causal, or a corpus with source and target, whose sources are prefixes",
            fix="remove it, or add a parallel corpus",
        )


def _answers(recipe: "Recipe") -> Iterator[Complaint]:
    """Conversations whose answers count, without a tokenizer that has a chat template."""
    keyed = {f"data.train.{number}": corpus for number, corpus in enumerate(recipe.data.train)}
    keyed |= {
        f"data.valid.{name}" if name != "valid" else "data.valid": each
        for name, each in recipe.data.valid.items()
    }
    for path, files in keyed.items():
        if files.learn == "all":
            continue
        if files.text is None:
            yield Complaint(
                path=f"{path}.learn",
                what="of pairs the target alone counts anyway",
                got="answers, with source and target",
                allowed="answers with a `text` of conversations",
                fix="remove it",
            )
        elif not isinstance(recipe.data.tokenizer, PretrainedTokenizer):
            yield Complaint(
                path=f"{path}.learn",
                what="conversations are written out by the chat template of a pretrained tokenizer",
                got=f"answers, with `data.tokenizer.kind: {recipe.data.tokenizer.kind}`",
                allowed="all, or a pretrained tokenizer",
                fix="remove it to learn conversations whole, or set `model: {kind: pretrained, path: ...}`",
            )


def _sets(recipe: "Recipe", *, texts_alone: bool) -> Iterator[Complaint]:
    """Validation sets of a kind that the model never reads in training."""
    for path, files in recipe.data.valid_by_key.items():
        if files.text is None and texts_alone:
            yield Complaint(
                path=path,
                what="a model that trains on documents only cannot read pairs: its vocabulary has no separator",
                got="source and target",
                allowed="a `text`, or a training corpus with source and target",
                fix="name a `text`, or add pairs to data.train",
            )
        elif files.text is not None and not recipe.reads_texts:
            yield Complaint(
                path=f"{path}.text",
                what="a model that trains on pairs only cannot score a text: it learns targets after a "
                "source and a separator, and a document has neither",
                got=f"text: {files.text}",
                allowed="source and target, or a training corpus with a `text`",
                fix="name source and target, or add a `text` to data.train",
            )


def _tokenizer(recipe: "Recipe") -> Iterator[Complaint]:
    tokenizer = recipe.data.tokenizer
    if isinstance(tokenizer, PretrainedTokenizer):
        yield from _pairs_beside_pretrained(recipe)
    if recipe.model.pretrained_path and not isinstance(tokenizer, PretrainedTokenizer):
        yield Complaint(
            path="data.tokenizer.kind",
            what="a pretrained model knows the ids of its own tokenizer alone",
            got=tokenizer.kind,
            allowed="pretrained",
            fix="leave `data.tokenizer` out",
        )
    if recipe.data.source_tokenizer is not None:
        yield Complaint(
            path="data.source_tokenizer",
            what="source and target share one row, so they share one vocabulary",
            got="a separate source tokenizer, with task language_model",
            fix="remove it",
        )
    if isinstance(tokenizer, ByteLevel) and tokenizer.normalization != IDENTITY:
        yield Complaint(
            path="data.tokenizer.normalization",
            what="a language model reproduces texts as they are",
            got=f"{tokenizer.normalization}, with task language_model",
            allowed=IDENTITY,
            fix="remove it",
        )
    if not isinstance(tokenizer, SentencePieceTokenizer):
        return
    if tokenizer.sampling is not None:
        yield Complaint(
            path="data.tokenizer.sampling",
            what="a language model reads each text with one segmentation, or its likelihood is meaningless",
            got=tokenizer.sampling.kind,
            allowed="no sampling, with task language_model",
            fix="remove it",
        )
    if tokenizer.path is None and not tokenizer.byte_fallback:
        yield Complaint(
            path="data.tokenizer.byte_fallback",
            what="without it some characters are unknown, and texts do not survive encoding and decoding",
            got="false, with task language_model",
            allowed="true",
            fix="remove it; true is the default",
        )
    if tokenizer.path is None and tokenizer.normalization != IDENTITY:
        yield Complaint(
            path="data.tokenizer.normalization",
            what="texts would not survive encoding and decoding",
            got=f"{tokenizer.normalization}, with task language_model",
            allowed=IDENTITY,
            fix=f"remove it; {IDENTITY} is the default of this task",
        )


def _pairs_beside_pretrained(recipe: "Recipe") -> Iterator[Complaint]:
    """Pairs, whose rows need a separator and tags that a pretrained tokenizer has no ids for."""
    for number, corpus in enumerate(recipe.data.train):
        if corpus.text is None:
            yield Complaint(
                path=f"data.train.{number}",
                what="a pretrained tokenizer has no separator to put between source and target",
                got="source and target",
                allowed="a `text`",
                fix="write the pairs as JSONL with `prompt` and `completion`, and name it as `text`",
            )


def _transforms(recipe: "Recipe") -> Iterator[Complaint]:
    texts = any(corpus.text is not None for corpus in recipe.data.train)
    for place, transform in enumerate(recipe.data.transforms):
        if texts or transform.kind not in FILTERS:
            yield Complaint(
                path=f"data.transforms.{place}",
                what="documents are learned unchanged" if texts else "a transform for encoder-decoders",
                got=f"{transform.kind}, with task language_model",
                allowed="no transform beside a `text`" if texts else " or ".join(FILTERS),
                fix="remove it",
            )


FACTS = TaskFacts(
    model_kinds=("decoder", "pretrained", "transformers", "x_transformers"),
    other_kinds="a language model has no encoder",
    one_row=True,
    scores_follow_from_the_loss=True,
    metrics=("texts", "translations"),
    continues_texts=True,
    command="trimtab generate",
    pretrained="Llama, Mistral, Qwen2 and Qwen3; GPT-2, Gemma 1 to 3, Phi, Phi-3, GPT-NeoX and Pythia, OPT, SmolLM3, "
    "OLMo 2 and StarCoder2",
    defaults=(
        ("loss.label_smoothing", 0.0),
        ("evaluate.metrics", ["perplexity", "byte_perplexity", "bits_per_byte"]),
        ("evaluate.best.metric", "loss"),
    ),
    normalization=IDENTITY,
    contradictions=language_model_contradictions,
)
