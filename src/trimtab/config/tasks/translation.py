"""Translation: what corpora, validation sets and tokenizer it takes."""

from collections.abc import Iterator

from trimtab.config.problems import Complaint
from trimtab.config.run import Recipe
from trimtab.config.tokenizer import ByteTokenizer


def translation_contradictions(recipe: Recipe) -> Iterator[Complaint]:
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
    if isinstance(data.tokenizer, ByteTokenizer):
        yield Complaint(
            path="data.tokenizer.kind",
            what="bytes are for language models",
            got="bytes, with task translation",
            allowed="sentencepiece",
            fix="set `data.tokenizer.kind: sentencepiece`",
        )
