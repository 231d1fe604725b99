"""Classification: what corpora, tokenizer, transforms and lengths it takes."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trimtab.config.complaint import Complaint
from trimtab.config.task_record import TaskFacts
from trimtab.config.tokenizer import ByteLevel, ByteTokenizer, PretrainedTokenizer, SentencePieceTokenizer

if TYPE_CHECKING:
    from trimtab.config.run import Recipe


def classification_contradictions(recipe: "Recipe") -> Iterator[Complaint]:
    """Corpora, a tokenizer or transforms that are for another task."""
    for check in (_corpora, _sets, _tokenizer, _transforms, _export):
        yield from check(recipe)


def _corpora(recipe: "Recipe") -> Iterator[Complaint]:
    for number, corpus in enumerate(recipe.data.train):
        path = f"data.train.{number}"
        if corpus.text is not None:
            yield _no_labels(f"{path}.text", corpus.text)
        if corpus.both_directions:
            yield Complaint(
                path=f"{path}.both_directions",
                what="a label cannot be read as a text",
                got="true, with task classification",
                fix="remove it",
            )
        if corpus.tags:
            yield _no_tags(f"{path}.tags", corpus.tags)


def _sets(recipe: "Recipe") -> Iterator[Complaint]:
    for path, files in recipe.data.valid_by_key.items():
        if files.text is not None:
            yield _no_labels(f"{path}.text", files.text)
        if files.tags:
            yield _no_tags(f"{path}.tags", files.tags)


def _no_labels(path: str, text: str) -> Complaint:
    return Complaint(
        path=path,
        what="a text alone has no labels",
        got=f"text: {text}",
        allowed="source (the texts) and target (a label for each)",
        fix="write both, such as {pairs: lines.tsv, source: 1, target: 2}",
    )


def _no_tags(path: str, tags: tuple[str, ...]) -> Complaint:
    return Complaint(
        path=path,
        what="a classifier reads texts without tags",
        got=" and ".join(tags),
        fix="remove them",
    )


def _tokenizer(recipe: "Recipe") -> Iterator[Complaint]:
    tokenizer = recipe.data.tokenizer
    if recipe.data.source_tokenizer is not None:
        yield Complaint(
            path="data.source_tokenizer",
            what="labels are not text, so there is one vocabulary, that of the texts",
            got="a separate source tokenizer, with task classification",
            fix="rename it to `tokenizer`",
        )
    pretrained = bool(recipe.model.pretrained_path)
    if isinstance(tokenizer, PretrainedTokenizer) and pretrained:
        return
    if pretrained:
        yield Complaint(
            path="data.tokenizer.kind",
            what="a pretrained model knows the ids of its own tokenizer alone",
            got=tokenizer.kind,
            allowed="pretrained",
            fix="leave `data.tokenizer` out",
        )
    elif not isinstance(tokenizer, SentencePieceTokenizer | ByteLevel):
        yield Complaint(
            path="data.tokenizer.kind",
            what="bytes are for language models"
            if isinstance(tokenizer, ByteTokenizer)
            else "an encoder that begins untrained trains a tokenizer of its own",
            got=f"{tokenizer.kind}, with task classification",
            allowed="sentencepiece, byte_level_bpe or superbpe",
            fix="set `data.tokenizer.kind: sentencepiece`",
        )
    elif tokenizer.sampling is not None:
        yield Complaint(
            path="data.tokenizer.sampling",
            what="a classifier reads each text with one segmentation",
            got=tokenizer.sampling.kind,
            allowed="no sampling, with task classification",
            fix="remove it",
        )


def _transforms(recipe: "Recipe") -> Iterator[Complaint]:
    for place, transform in enumerate(recipe.data.transforms):
        if transform.kind != "normalize":
            yield Complaint(
                path=f"data.transforms.{place}",
                what="a transform of pairs of texts",
                got=f"{transform.kind}, with task classification",
                allowed="normalize",
                fix="remove it",
            )


def _export(recipe: "Recipe") -> Iterator[Complaint]:
    pretrained = bool(recipe.model.pretrained_path)
    allowed = ("hf", "peft") if recipe.adapter is not None else ("hf",)
    if [each for each in recipe.export if each not in allowed or not pretrained]:
        yield Complaint(
            path="export",
            what="this export target supports no classifiers"
            if pretrained
            else "no export target supports classifiers",
            got=", ".join(recipe.export),
            allowed=f"{' or '.join(allowed)}, with a pretrained model"
            if pretrained
            else "nothing, with an encoder of its own",
            fix="remove it",
        )


FACTS = TaskFacts(
    model_kinds=("encoder", "transformers"),
    other_kinds="a classifier is an encoder alone",
    one_row=False,
    scores_follow_from_the_loss=False,
    examples="texts with labels",
    metrics=("labels",),
    one_target=True,
    targets="examples",
    each_target="an example",
    loss_unit="nats per example",
    batches=("batch", "batches"),
    mismatch="`source` names the texts and `target` their labels",
    writes_text=False,
    command="trimtab classify",
    pretrained="BERT and MiniLM, RoBERTa, XLM-R and DistilBERT",
    defaults=(
        ("loss.label_smoothing", 0.0),
        ("step.tokens_per_step", 256),
        ("evaluate.metrics", ["accuracy", "macro_f1"]),
        ("evaluate.best.metric", "accuracy"),
    ),
    contradictions=classification_contradictions,
)
