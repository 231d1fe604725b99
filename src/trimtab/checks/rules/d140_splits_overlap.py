"""D140 splits-overlap"""

import re
from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.trainers import trainers
from trimtab.checks.read.flow.values import Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="D140",
    name="splits-overlap",
    severity="error",
    message="{fault}: the model is evaluated on examples that it was trained on",
    why="The score then measures memorization, and early stopping or checkpoint selection by it prefers "
    "the checkpoint that has memorized most.",
    evidence=(
        Maintainer(
            "https://huggingface.co/docs/datasets/v1.9.0/splits.html",
            "Of `train[:10%]+train[-80%:]`: 'The first 10% of `train` + the last 80% of `train`.'",
        ),
        Arithmetic(
            "Two random splits of 90% share 81% of the examples: of 10% that were held out by one, 90% are "
            "in the training part of the other."
        ),
    ),
    fix=Fix("{fix}"),
    bad=Example(
        "train.py",
        "from datasets import load_dataset\n"
        "from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments\n"
        "train, dev = load_dataset('imdb', split='train[:80%]'), load_dataset('imdb', "
        "split='train[:20%]')\n"
        "model = AutoModelForSequenceClassification.from_pretrained('bert-base-uncased')\n"
        "Trainer(model=model, args=TrainingArguments('out', eval_strategy='epoch'), "
        "train_dataset=train, eval_dataset=dev).train()\n",
    ),
    good=Example(
        "train.py",
        "from datasets import load_dataset\n"
        "from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments\n"
        "train, dev = load_dataset('imdb', split='train[:80%]'), load_dataset('imdb', "
        "split='train[80%:]')\n"
        "model = AutoModelForSequenceClassification.from_pretrained('bert-base-uncased')\n"
        "Trainer(model=model, args=TrainingArguments('out', eval_strategy='epoch'), "
        "train_dataset=train, eval_dataset=dev).train()\n",
    ),
    symptoms=(
        "validation loss is as low as training loss",
        "good on the validation set and bad in use",
        "data leakage",
    ),
)
_SLICE = re.compile(r"(\w+)\[(-?\d+)?(%)?:(-?\d+)?(%)?\]")


def check(run: Description) -> Iterator[Diagnosis]:
    """Percentages of one split that overlap, given to a Trainer for training and for evaluation; and a set that is
    split at random twice, each time for one part."""
    flow = flow_of(run.document)
    for trainer in trainers(run):
        one, other = (_part(trainer.value.keywords.get(name)) for name in ("train_dataset", "eval_dataset"))
        if (
            one is not None
            and other is not None
            and one[:2] == other[:2]
            and max(one[2], other[2]) < min(one[3], other[3])
        ):
            yield RULE.at(
                trainer.place,
                fault=f"`{one[4]}` and `{other[4]}` overlap",
                fix="take the rest of the split for evaluation",
            )
            return
    splits = [event for event in flow.named("random_split") if event.value.name.startswith("torch.")]
    for at, one in enumerate(splits):
        for other in splits[at + 1 :]:
            whole = one.value.argument(0, "dataset")
            is_seeded = any("generator" in each.value.keywords for each in (one, other)) or says(
                run.document, "manual_seed(", "seed_everything(", "set_seed("
            )
            if (
                whole is not None
                and whole is other.value.argument(0, "dataset")
                and one.path == other.path
                and not is_seeded
            ):
                fault = "the set is split at random twice, in two different ways"
                yield RULE.at(other.place, fault=fault, fix="split once, and take both parts from it")
                return


def _part(value: Value | None) -> tuple[str, str, int, int, str] | None:
    """Set, split, start and end of the percentages that a value was loaded from."""
    for each in walk(value, most=20):
        if each.made == "call" and each.name == "datasets.load_dataset" and each.args:
            split = each.argument(99, "split")
            found = (
                _SLICE.fullmatch(split.constant)
                if split is not None and isinstance(split.constant, str)
                else None
            )
            name = each.args[0].constant
            if (
                found is None
                or not isinstance(name, str)
                or (found[2] and not found[3])
                or (found[4] and not found[5])
            ):
                return None
            start, end = int(found[2] or 0), int(found[4] or 100)
            start, end = (start + 100 if start < 0 else start), (end + 100 if end < 0 else end)
            second = str(each.args[1].constant) if len(each.args) > 1 else ""
            return f"{name}/{second}", found[1], start, end, found[0]
    return None
