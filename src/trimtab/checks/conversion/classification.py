"""A recipe that fine-tunes a pretrained encoder to classify texts, as scripts with a head for sequences do."""

from trimtab.checks.conversion.adapter import write_adapter
from trimtab.checks.conversion.draft import Draft, scalar
from trimtab.checks.conversion.freezing import write_freezing
from trimtab.checks.conversion.step import write_rest, write_step
from trimtab.checks.description import Description

HEAD = "ForSequenceClassification"
LONGEST = 512
"""Tokens of a text where no length is written: what BERT reads."""


def is_classification(run: Description) -> bool:
    """Whether a script loads a model with a head that classifies texts."""
    return any(
        call.name == "from_pretrained" and call.qualifier.endswith(HEAD) for call in run.document.calls
    )


def predicts_numbers(run: Description) -> bool:
    """Whether that head has one output, for regression, or several labels for a text."""
    for call in run.document.calls:
        if call.name == "from_pretrained" and call.qualifier.endswith(HEAD):
            arguments = {name: entry.value for name, entry in call.arguments.items()}
            if arguments.get("num_labels") == 1 or arguments.get("problem_type") in (
                "regression",
                "multi_label_classification",
            ):
                return True
    return False


def write_classification(draft: Draft) -> None:
    """Writes what has a counterpart."""
    draft.counts_examples = True
    draft.account(draft.run.setting("task"))
    draft.note(
        "trimtab does not read data sets from scripts: write one text and its label per line, separated by a tab, to "
        "train.tsv and dev.tsv, or name your files and columns"
    )
    draft.say("task: classification")
    draft.say()
    draft.say("data:")
    draft.say("train: [{pairs: train.tsv, source: 1, target: 2}]", level=1)
    draft.say("valid: {pairs: dev.tsv, source: 1, target: 2}", level=1)
    longest = draft.take("sequence_length")
    number = longest.value if longest is not None and longest.value > 1 else LONGEST
    draft.put("max_tokens", number, level=1, source=longest)
    draft.say()
    name = draft.take("model_name")
    path = "MODEL" if name is None else scalar(name.value)
    draft.say(f"model: {{kind: pretrained, path: {path}}}", comment=draft.origin(name))
    write_adapter(draft)
    if draft.run.value("adapter") in (None, "none"):
        write_freezing(draft)
    smoothing = draft.take("label_smoothing")
    value = smoothing.value if smoothing is not None and 0 <= smoothing.value < 1 else 0.0
    draft.say(f"loss: {{kind: cross_entropy, label_smoothing: {value:g}}}", comment=draft.origin(smoothing))
    draft.say()
    write_step(draft, longest=1)
    write_rest(draft, metrics="accuracy, macro_f1", has_validation=True)
    for concept in ("output_dir", "epochs", "validation"):
        draft.account(draft.run.setting(concept))
    draft.key("num_epochs", "num_train_epochs", "num_labels", "from_pretrained.num_labels")
