"""Translation: what corpora, validation sets and tokenizer it takes."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trimtab.config.complaint import Complaint
from trimtab.config.task_record import TaskFacts
from trimtab.config.tokenizer import ByteLevel, ByteTokenizer, PretrainedTokenizer

if TYPE_CHECKING:
    from trimtab.config.run import Recipe

SYMBOLS = {"context": "separators", "protect": "symbols", "denoise": "a mask"}
"""Transforms that need pieces which a pretrained vocabulary does not have."""


def translation_contradictions(recipe: "Recipe") -> Iterator[Complaint]:
    """Validation sets, corpora or a tokenizer that are for another task."""
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
            what="every corpus is in one language, so there is nothing to translate and nothing to restore",
            got="text alone, with task translation",
            allowed="a corpus with source and target, or the transform denoise",
            fix="set `task: language_model` and `model: {kind: decoder}`, or add a parallel corpus",
        )
    if recipe.model.pretrained_path or isinstance(data.tokenizer, PretrainedTokenizer):
        yield from _of_pretrained(recipe)
    if isinstance(data.tokenizer, ByteTokenizer):
        yield Complaint(
            path="data.tokenizer.kind",
            what="bytes are for language models",
            got="bytes, with task translation",
            allowed="sentencepiece, byte_level_bpe or superbpe",
            fix="set `data.tokenizer.kind: sentencepiece`",
        )
    if isinstance(data.tokenizer, ByteLevel) and data.source_tokenizer is not None:
        yield Complaint(
            path="data.source_tokenizer",
            what=f"a vocabulary of the kind {data.tokenizer.kind} is shared by both sides",
            got="a separate source tokenizer",
            allowed="one for both sides, or sentencepiece on both",
            fix="remove it",
        )


def _of_pretrained(recipe: "Recipe") -> Iterator[Complaint]:
    """A pretrained translator with what its vocabulary or its module cannot do."""
    data, model = recipe.data, recipe.model
    if model.kind != "transformers":
        yield Complaint(
            path="data.tokenizer.kind",
            what="source and target of a pretrained vocabulary are known only with the pretrained model",
            got=f"pretrained, with `model.kind: {model.kind}`",
            allowed="sentencepiece, byte_level_bpe or superbpe",
            fix="set `data.tokenizer.kind: sentencepiece`, or `model: {kind: pretrained, path: ...}`",
        )
        return
    if not isinstance(data.tokenizer, PretrainedTokenizer) and not isinstance(data.tokenizer, ByteTokenizer):
        yield Complaint(
            path="data.tokenizer.kind",
            what="a pretrained model knows the ids of its own tokenizer alone",
            got=data.tokenizer.kind,
            allowed="pretrained",
            fix="leave `data.tokenizer` out, but for the languages",
        )
    if data.source_tokenizer is not None:
        yield Complaint(
            path="data.source_tokenizer",
            what="a pretrained model brings the tokenizers of both sides",
            got="a separate source tokenizer",
            fix="remove it",
        )
    if model.trained_layers is not None:
        yield Complaint(
            path="model.trained_layers",
            what="only classifiers can keep layers as they are",
            got=f"{model.trained_layers}, with task translation",
            fix="remove it",
        )
    if recipe.loss.guided_alignment is not None:
        yield Complaint(
            path="loss.guided_alignment",
            what="a module of transformers does not show its attention in training",
            got="guided_alignment, with a pretrained model",
            fix="remove it",
        )
    yield from _of_corpora(recipe)
    for place, transform in enumerate(data.transforms):
        if transform.kind in SYMBOLS:
            yield Complaint(
                path=f"data.transforms.{place}",
                what=f"needs {SYMBOLS[transform.kind]}, which a pretrained vocabulary does not have",
                got=f"{transform.kind}, with a pretrained model",
                allowed="filters and normalize",
                fix="remove it",
            )


def _of_corpora(recipe: "Recipe") -> Iterator[Complaint]:
    """Tags, and the other direction, whose languages would be the wrong ones."""
    data = recipe.data
    for number, corpus in enumerate(data.train):
        if corpus.both_directions:
            yield Complaint(
                path=f"data.train.{number}.both_directions",
                what="a pretrained model reads one language and writes the other, as its tokenizer says",
                got="true, with a pretrained model",
                allowed="false",
                fix="remove it, and train a run for each direction",
            )
    for path, files in data.files_by_key.items():
        if tags := files.tags:
            yield Complaint(
                path=f"{path}.tags",
                what="a pretrained vocabulary has no tags",
                got=" and ".join(tags),
                allowed="none; a language is named in `data.tokenizer`",
                fix="remove them",
            )


FACTS = TaskFacts(
    model_kinds=("encoder_decoder", "modular", "transformers", "x_transformers"),
    other_kinds="a decoder alone reads no source apart",
    attends_to_source=True,
    one_row=False,
    scores_follow_from_the_loss=False,
    metrics=("translations",),
    command="trimtab translate",
    pretrained="Marian and OPUS, M2M100 and NLLB, mBART, BART, T5, mT5 and MADLAD",
    contradictions=translation_contradictions,
)
