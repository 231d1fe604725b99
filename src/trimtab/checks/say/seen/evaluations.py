"""Pages of what an evaluation shows."""

from trimtab.checks.say.seen.page import SeenPage

PAGES: tuple[SeenPage, ...] = (
    SeenPage(
        code="M901",
        name="source-ignored",
        severity="error",
        when="while training",
        seen="the loss is the same with the sources of other lines",
        why="The model predicts the target from the target alone: sources and targets do not belong together, or the "
        "encoder does not reach the decoder.",
        fix="check that line n of the source is translated by line n of the target: `trimtab data inspect RECIPE`",
        home="training/validate.py",
        symptoms=("output has nothing to do with the input", "hallucinates", "same output for every input"),
    ),
    SeenPage(
        code="E901",
        name="collapsed-outputs",
        severity="error",
        when="while training",
        seen="different sentences have almost all the same translation",
        why="The model gives the same few sentences whatever it reads: it has learned the target language's commonest "
        "phrases and ignores the source. The loss falls all the same.",
        fix="if the loss is still high, train longer; otherwise lower the learning rate (to a half or a third) or "
        "lengthen the warmup; if it stays, check that the two sides of the data belong together",
        home="scoring/repetition.py",
        symptoms=("same output for every input", "repeats the same words", "writes one token"),
    ),
    SeenPage(
        code="E902",
        name="tags-unlike-training",
        severity="warning",
        when="when translating or evaluating",
        seen="lines come without a tag, or with one that no line of the training had",
        why="The model was told by the tag what to write; without it, it mixes what it learned.",
        fix="say the tag by `--tag`, or `tags` in Python, as in the recipe's data.train",
        home="data/tags.py",
        symptoms=("wrong language in the output", "worse when translating than in validation"),
    ),
)
