"""Pages of what is checked before the first step on the data and the symbols of its tokenizer."""

from trimtab.run_findings.spec import RunFinding

UNKNOWN_PIECES = RunFinding(
    code="D201",
    name="unknown-pieces",
    severity="error",
    when="before the first step",
    seen="more tokens than 0.5% (a warning) or 5% (an error) are unknown to the vocabulary",
    why="Unknown tokens carry no meaning, and the model learns to write them.",
    fix="set data.tokenizer.byte_fallback: true, or train the tokenizer on this text",
    explains=("M901", "E901", "E903", "S902", "S903", "S911"),
    home="tasks/text/data_checks.py",
    also=("tasks/recognition/checks.py",),
    symptoms=(
        "unknown tokens in the output",
        "characters are missing in the output",
    ),
)

EXAMPLES_DROPPED = RunFinding(
    code="D202",
    name="examples-dropped",
    severity="error",
    when="before the first step",
    seen="many of the first examples are dropped by a filter or a limit",
    why="Dropped examples are not learned; a filter or limit does not fit this text.",
    fix="loosen data.transforms or raise data.max_tokens; `trimtab data inspect` shows examples",
    home="tasks/diagnoses.py",
    symptoms=(
        "long sentences are translated badly",
        "fewer examples than expected",
    ),
)

GREY_IMAGES_AS_RGB = RunFinding(
    code="D213",
    name="grey-images-as-rgb",
    severity="warning",
    when="before the first step",
    seen="the first images are all grayscale, but the model is trained on RGB",
    why="The model has to learn that the three channels are equal; where it fails, samples have a tint.",
    fix="set `data.images.channels: grey`",
    home="tasks/images/checks.py",
    symptoms=(
        "samples have a green tint",
        "samples have colors that no training image has",
    ),
)

BLANK_VALIDATION_LINES = RunFinding(
    code="D203",
    name="blank-validation-lines",
    severity="error",
    when="before the first step",
    seen="pairs of a validation set have no text on one side",
    why="Scores against blank references say nothing, and they choose the best checkpoint.",
    fix="remove the blank lines from both files, or name others under data.valid",
    home="tasks/text/data_checks.py",
    symptoms=(
        "validation score is zero",
        "best checkpoint is a bad one",
    ),
)

UNUSABLE_BOXES = RunFinding(
    code="D212",
    name="unusable-boxes",
    severity="warning",
    when="before the first step",
    seen="boxes of a list lie outside their image, have no area, or refer to an unknown image or category (an error "
    "from 20%)",
    why=(
        "Boxes in another unit or of other images teach the model nothing, and objects whose boxes are missing are "
        "learned as background."
    ),
    fix=(
        "correct the list: COCO has left, top, width and height in pixels, YOLO center and size as shares of the image"
    ),
    home="tasks/detection/checks.py",
    symptoms=(
        "mAP is almost zero on my own data",
        "boxes are ignored in training",
    ),
)

VALIDATION_SET_WITHOUT_TAGS = RunFinding(
    code="D204",
    name="validation-set-without-tags",
    severity="warning",
    when="before the first step",
    seen="a validation set has no tags, but every training corpus has",
    why=(
        "Its lines look unlike all training lines, so its scores underestimate the model, and they choose the "
        "best checkpoint."
    ),
    fix="add `tags` under data.valid, as in data.train",
    home="data/tags.py",
    symptoms=(
        "validation score is low",
        "best checkpoint is a bad one",
    ),
)

VALIDATION_IN_TRAINING = RunFinding(
    code="D205",
    name="validation-in-training",
    severity="warning",
    when="before the first step",
    seen=(
        "more than a tenth of a validation set's pairs, or of the passages of its documents, are in a "
        "training corpus too"
    ),
    why=(
        "Scores on memorized text say nothing about unseen text, and they choose a checkpoint that was "
        "trained for too long."
    ),
    fix="remove these lines, or documents, from the training data, or hold out others",
    home="data/corpus_findings.py",
    symptoms=(
        "validation score is too good to be true",
        "good validation score and bad translations",
    ),
)

SIDES_APART = RunFinding(
    code="D206",
    name="sides-apart",
    severity="warning",
    when="before the first step",
    seen=(
        "from some line on, the lengths of the two sides of a corpus do not match, or its sides are swapped"
    ),
    why="A model trained on mismatched pairs learns to ignore the source.",
    fix=(
        "check the lines there and some before: one is lost, duplicated or split on one side; "
        "`trimtab data inspect` looks at every line"
    ),
    explains=("M901", "E901", "E903", "S902", "S903", "S911"),
    home="data/corpus_findings.py",
    symptoms=(
        "output has nothing to do with the input",
        "loss falls and the output stays wrong",
    ),
)

LINE_OUT_OF_ALL_PROPORTION = RunFinding(
    code="D207",
    name="line-out-of-all-proportion",
    severity="warning",
    when="before the first step",
    seen="a training corpus has a line of more than a quarter of a million bytes",
    why=(
        "No sentence is this long: the line is junk, or the file has lost its line ends. Such lines are dropped "
        "without being read, as too_long; everything else is trained on as if they were not there."
    ),
    fix="look at the line (`sed -n 'NUMBERp' FILE | cut -c1-200`), and take it out of the files",
    home="data/corpus_findings.py",
    symptoms=(
        "a line of slashes",
        "out of memory while reading the data",
    ),
)

NUL_IN_TEXT = RunFinding(
    code="D210",
    name="nul-in-text",
    severity="warning",
    when="before the first step",
    seen="lines of a training corpus have the character NUL in them",
    why=(
        "No text has a NUL in it: it comes from a damaged copy, or from text in another encoding that was"
        " joined to this one. Such a line is trained on as it is."
    ),
    fix=(
        "look at the line (`sed -n 'NUMBERp' FILE | cat -v` shows it as ^@), and fix it or take it out; "
        "`tr -d '\\000'` removes the NULs alone"
    ),
    explains=("S901", "S902", "S903", "S911"),
    home="data/corpus_findings.py",
    symptoms=(
        "zero bytes in the training text",
        "text in UTF-16",
    ),
)

TARGET_COPIES_SOURCE = RunFinding(
    code="D211",
    name="target-copies-source",
    severity="warning",
    when="before the first step",
    seen="in more than half of the pairs of a corpus, or more than 5% of its sentences, the target is the source",
    why="The model learns to copy: translations repeat their input, and where most pairs are copies the loss falls to "
    "almost nothing.",
    fix="give the target's own file; `trimtab data inspect RECIPE` counts such pairs in each corpus",
    explains=("M901", "E901", "E903", "S902", "S903", "S911"),
    home="data/corpus_findings.py",
    symptoms=(
        "copies the source",
        "loss zero",
    ),
)

SYMBOLS_CLASH = RunFinding(
    code="D208",
    name="symbols-clash",
    severity="error",
    when="before the first step",
    seen=(
        "two of the symbols for padding, unknown, start and end have one id, or an id is outside the "
        "vocabulary"
    ),
    why=(
        "Two symbols with one id cannot be distinguished: a model that learns padding as the end never "
        "stops, or stops at once."
    ),
    fix="train the tokenizer again, with four different ids for pad, unk, bos and eos",
    home="tasks/text/symbols.py",
    symptoms=(
        "translations never end",
        "translations are empty",
    ),
)

TEXT_CHANGES_IN_THE_TOKENIZER = RunFinding(
    code="D209",
    name="text-changes-in-the-tokenizer",
    severity="warning",
    when="before the first step",
    seen="lines come back from the tokenizer with different letters",
    why="The model can neither read nor write what the tokenizer drops.",
    fix="train the tokenizer on this text, or look for a tokenizer of another version or language",
    home="tasks/text/symbols.py",
    symptoms=(
        "characters are missing in the output",
        "letters are replaced in the output",
    ),
)

UNUSUAL_ROLE = RunFinding(
    code="D214",
    name="unusual-role",
    severity="warning",
    when="before the first step",
    seen="messages of conversations have a role that few chat templates know, such as `context`",
    why=(
        "A template writes such a role as it is, or in the place of another one; the pretrained model may never have "
        "read it. Messages of the model itself count only under the role `assistant`."
    ),
    fix="rename the role in the data (`assistant` for answers), or leave it where the template is made for it",
    home="tasks/text/data_checks.py",
    symptoms=("the model ignores the context that it is given",),
)


ALL = (
    UNKNOWN_PIECES,
    EXAMPLES_DROPPED,
    GREY_IMAGES_AS_RGB,
    BLANK_VALIDATION_LINES,
    UNUSABLE_BOXES,
    VALIDATION_SET_WITHOUT_TAGS,
    VALIDATION_IN_TRAINING,
    SIDES_APART,
    LINE_OUT_OF_ALL_PROPORTION,
    NUL_IN_TEXT,
    TARGET_COPIES_SOURCE,
    UNUSUAL_ROLE,
    SYMBOLS_CLASH,
    TEXT_CHANGES_IN_THE_TOKENIZER,
)
