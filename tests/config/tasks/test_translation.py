from tests.config.tasks.recipes import TRANSLATION, refused
from tests.for_each import for_each


@for_each(
    ("kind", "changes", "path", "what"),
    [
        (TRANSLATION, {"data.train": "[{text: a.txt}]"}, "data.train.0.text", "nothing to translate"),
        (TRANSLATION, {"data.valid": "{text: b.txt}"}, "data.valid.text", "has two sides"),
        (TRANSLATION, {"data.valid": "{dev: {text: b.txt}}"}, "data.valid.dev.text", "has two sides"),
        (
            TRANSLATION,
            {"data.tokenizer": "{kind: bytes}"},
            "data.tokenizer.kind",
            "bytes are for language models",
        ),
    ],
)
def test_what_translation_does_not_take_is_refused_with_its_place(kind, changes, path, what):
    refused(kind, changes, path, what)
