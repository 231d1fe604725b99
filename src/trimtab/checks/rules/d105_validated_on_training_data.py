"""D105 validated-on-training-data"""

from collections.abc import Iterator
from typing import Any, Final, cast

from trimtab.checks.corpora import corpora_of, setting_of
from trimtab.checks.description import Description
from trimtab.checks.document import UNKNOWN
from trimtab.checks.evidence import Arithmetic
from trimtab.checks.file_pairs import training_pair, validation_pair
from trimtab.checks.read.flow.loops import training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import options as ways
from trimtab.checks.read.flow.roles import without_gradients
from trimtab.checks.read.flow.trainers import trainers
from trimtab.checks.read.flow.values import Event, Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.setting import Setting

_YAML = (
    "data:\n  corpus_1: {{path_src: train.en, path_tgt: train.de}}\n"
    "  valid: {{path_src: {stem}.en, path_tgt: {stem}.de}}\nsave_model: out/model\n"
    "encoder_type: transformer\ndecoder_type: transformer\nhidden_size: 512\nword_vec_size: 512\n"
    "position_encoding: true\nbatch_type: tokens\nbatch_size: 4096\nnormalization: tokens\n"
)

RULE = Rule(
    code="D105",
    name="validated-on-training-data",
    severity="warning",
    message="`{key}` is {path}, which is also trained on",
    why="Validation then measures how well the training data are remembered. Early stopping and the choice "
    "of the best checkpoint take the most over-fitted one.",
    evidence=(
        Arithmetic(
            "The validation loss is an estimate for unseen text only where its examples were not trained on; "
            "on the training data it falls as long as the training loss does."
        ),
    ),
    fix=Fix("give validation data of its own, a few thousand examples held out"),
    bad=Example("opennmt.yaml", _YAML.format(stem="train")),
    good=Example("opennmt.yaml", _YAML.format(stem="dev")),
    symptoms=(
        "validation is perfect but the model is bad",
        "over-fits without being seen",
        "validation loss equals training loss",
        "evaluated on the training set",
        "validation accuracy is too good to be true",
        "validation set leaks into training",
        "good on validation and bad on real data",
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where one and the same file, or set and split, is on both sides."""
    listed = (
        *_of_toolkits(run),
        *_of_axolotl(run),
        *_of_llamafactory(run),
        *_of_recipes(run),
        *_of_pairs(run),
    )
    for setting, path in listed:
        yield RULE.at(setting, path=path)
    yield from _of_loaders(run)
    yield from _of_branches(flow_of(run.document))
    for trainer in trainers(run):
        trained, held = (
            trainer.value.keywords.get("train_dataset"),
            trainer.value.keywords.get("eval_dataset"),
        )
        if trained is None or held is None or held.made == "dict" or _only_evaluates(run, trainer):
            continue
        is_one = trained is held and trained.made not in ("constant", "parameter")
        if is_one or _is_part_of(held, trained):
            what = "the same object as" if is_one else "examples of"
            yield RULE.at(trainer.place, key="eval_dataset", path=f"{what} `train_dataset`")


def _only_evaluates(run: Description, trainer: Event) -> bool:
    """Whether a trainer evaluates and never trains, beside another one of the same script that does."""
    flow = flow_of(run.document)
    trained = [event for event in flow.named("train") if event.subject is trainer.value]
    return not trained and any(event.subject is trainer.value for event in flow.named("evaluate"))


_KEEPING: Final = frozenset(
    {
        "map", "with_format", "shuffle", "rename_column", "rename_columns", "remove_columns", "cast", "cast_column",
        "with_transform", "add_column", "flatten_indices",
    }
)  # fmt: skip
"""Methods of data sets after which all examples are still there."""
_TAKING: Final = frozenset({"select", "take", "filter"})


def _is_part_of(held: Value, trained: Value) -> bool:
    """Whether the one is all or a part of the other, whole: `data.select(range(100))` of `data`, and `data["train"]`
    twice, each tokenized by itself."""
    return _is_same(_origin(held, _KEEPING | _TAKING), _origin(trained, _KEEPING))


def _origin(value: Value, methods: frozenset[str]) -> Value:
    for _ in range(12):
        if (
            value.made != "call"
            or value.name not in methods
            or value.of is None
            or value.of.made == "imported"
        ):
            return value
        value = value.of
    return value


def _is_same(one: Value, other: Value) -> bool:
    """Whether two values are one set: one split of one set, or one file or set with one split loaded twice."""
    if one is other:
        return one.made in ("item", "call", "element") and (one.made != "call" or one.last == _LOAD)
    if one.made == "item" and other.made == "item" and one.args and other.args:
        key, match = one.args[0].constant, other.args[0].constant
        return isinstance(key, str) and key == match and one.of is other.of
    if one.made != "call" or other.made != "call" or not one.last == other.last == _LOAD:
        return False
    texts = [_written(each) for each in (one, other)]
    return texts[0] is not None and texts[0] == texts[1]


_LOAD: Final = "load_dataset"


def _written(load: Value) -> tuple[object, ...] | None:
    """What a call of `load_dataset` is given, where all of it is written and a split is."""
    named = {**dict(enumerate(load.args)), **load.keywords}
    if load.has_rest or "split" not in named or any(each.constant is UNKNOWN for each in named.values()):
        return None
    return tuple(sorted((str(key), str(each.constant)) for key, each in named.items()))


_HELD = ("val", "valid", "validation", "test", "eval", "dev")


def _of_loaders(run: Description) -> Iterator[Diagnosis]:
    """Loaders of a script over one and the same set: one that is shuffled, and one that is called a validation and is
    the only one of that name."""
    if "torch" not in run.document.imports:
        return
    made = [
        event.value
        for event in flow_of(run.document).named("DataLoader")
        if event.value.label and event.value.name.startswith("torch.")
    ]
    held = [each for each in made if _words(each) & {*_HELD, "va"}]
    if len(held) != 1 or held[0].place is None:
        return
    data = held[0].argument(0, "dataset")
    for each in made:
        shuffle = each.argument(2, "shuffle")
        is_trained = shuffle is not None and shuffle.constant is True and each is not held[0]
        over = each.argument(0, "dataset")
        is_same = data is not None and over is not None and (over is data or _is_one_split(over, data))
        if {"sampler", "batch_sampler"} & (each.keywords.keys() | held[0].keywords.keys()):
            continue
        if is_trained and is_same and data is not None and data.made not in ("constant", "parameter"):
            yield RULE.at(
                held[0].place, key=held[0].label, path="over the same object as the shuffled loader"
            )
            return


def _words(value: Value) -> set[str]:
    """The words of the name of a variable or an attribute."""
    return set(value.label.lower().rpartition(".")[2].split("_"))


def _is_one_call(one: Value, other: Value) -> bool:
    """Whether one constructor is called twice with the same arguments, and one of them says that it is to train."""
    if one.made != "call" or other.made != "call" or one.name != other.name or one.of is not other.of:
        return False
    if one.has_rest or other.has_rest or len(one.args) != len(other.args):
        return False
    pairs = {
        name: (one.keywords.get(name), other.keywords.get(name)) for name in {*one.keywords, *other.keywords}
    }
    is_training = any(
        pair[0] is not None
        and ((pair[0].constant is True and "train" in name) or pair[0].constant == "train")
        for name, pair in pairs.items()
    )
    compared = [
        *zip(one.args, other.args, strict=True),
        *(p for name, p in pairs.items() if "transform" not in name),
    ]
    return is_training and all(_is_equal(*pair) for pair in compared)


def _is_equal(one: Value | None, other: Value | None) -> bool:
    if one is None or other is None:
        return False
    return one is other or (one.constant is not UNKNOWN and one.constant == other.constant)


def _of_branches(flow: Flow) -> Iterator[Diagnosis]:
    """A loop without gradients over the data of the training loop, in a branch that asks for held-out data."""
    for loop in training_loops(flow):
        over = loop.block.value
        made = [each for each in ways(over) if each.made == "call"]
        if over is None or any(each.last != "DataLoader" for each in made):
            continue  # an iterator may be switched to other data
        for event in flow.events:
            for at, block in enumerate(event.path):
                is_again = block.kind == "for" and block is not loop.block and block.value is over
                if not is_again or block.place is None or not without_gradients(event) or not at:
                    continue
                asked = [each.value for each in event.path[:at] if each.kind == "if"]
                words = [
                    _words(each) | {*each.name.lower().split("_")}
                    for test in asked
                    for each in walk(test, most=6)
                ]
                if any(each & {*_HELD} for each in words):
                    name = over.label or over.name or "data"
                    yield RULE.at(block.place, key=name, path="the data of the training loop")
                    return


def _is_one_split(one: Value, other: Value) -> bool:
    """Whether both are the training split of one set of torchvision: `CIFAR10(root, train=True)`; or one call of
    another constructor, made twice."""
    if one.name != other.name:
        return False
    if not one.name.startswith("torchvision.datasets."):
        return _is_one_call(one, other)
    splits = [each.argument(1, "train") for each in (one, other)]
    root, another = one.argument(0, "root"), other.argument(0, "root")
    if (
        not all(each is not None and each.constant is True for each in splits)
        or root is None
        or another is None
    ):
        return False
    return root is another or (root.constant is not UNKNOWN and root.constant == another.constant)


def _of_toolkits(run: Description) -> Iterator[tuple[Setting, str]]:
    corpora = list(corpora_of(run))
    trained = {
        path for corpus in corpora if not corpus.is_validation for path in _texts(corpus.options, "path_src")
    }
    option = "path_valid_src" if run.tool == "mammoth" else "path_src"
    for corpus in corpora:
        setting = setting_of(run, corpus, option) if run.tool == "mammoth" or corpus.is_validation else None
        if setting is not None and isinstance(setting.value, str) and setting.value in trained:
            yield setting, setting.value


def _of_pairs(run: Description) -> Iterator[tuple[Setting, str]]:
    trained, held = training_pair(run), validation_pair(run)
    if trained is not None and held is not None and held.source == trained.source:
        yield held.source_setting, held.source


def _of_axolotl(run: Description) -> Iterator[tuple[Setting, str]]:
    if run.tool != "axolotl":
        return
    is_mapping = isinstance(run.document.tree, dict)
    tree = cast(dict[Any, Any], run.document.tree if is_mapping else {})
    trained = [_set_of(entry) for entry in _mappings(tree.get("datasets"))]
    for index, entry in enumerate(_mappings(tree.get("test_datasets"))):
        setting = run.written(f"test_datasets.{index}.path")
        if setting is not None and _set_of(entry) in trained:
            yield setting, str(setting.value)


def _of_llamafactory(run: Description) -> Iterator[tuple[Setting, str]]:
    trained, validated = run.written("dataset"), run.written("eval_dataset")
    if run.tool == "llamafactory" and trained is not None and validated is not None:
        both = sorted(_names(trained.value) & _names(validated.value))
        if both:
            yield validated, both[0]


def _of_recipes(run: Description) -> Iterator[tuple[Setting, str]]:
    if run.tool != "trimtab":
        return
    trained = {read for _, read in _read_by_recipes(run, "data.train")}
    for setting, read in _read_by_recipes(run, "data.valid"):
        if read in trained:
            yield setting, str(setting.value)


def _read_by_recipes(run: Description, branch: str) -> Iterator[tuple[Setting, tuple[str, ...]]]:
    """The file of each source, and what is read of it: beside a file of both sides `source` names a column."""
    groups: dict[str, dict[str, Setting]] = {}
    for setting in run.below(branch):
        group, _, key = setting.key.rpartition(".")
        groups.setdefault(group, {})[key] = setting
    for options in groups.values():
        if both := next((key for key in ("pairs", "documents", "dataset") if key in options), None):
            parts = [str(options[key].value) for key in (both, "split", "source") if key in options]
            yield options[both], (both, *parts)
        elif alone := options.get("text") or options.get("source"):
            yield alone, (str(alone.value),)


def _texts(options: Any, *names: str) -> Iterator[str]:
    return (options[name] for name in names if isinstance(options.get(name), str))


def _names(value: Any) -> set[str]:
    items = (
        value.split(",")
        if isinstance(value, str)
        else cast(list[Any], value)
        if isinstance(value, list)
        else []
    )
    return {item.strip() for item in items if isinstance(item, str) and item.strip()}


def _mappings(value: Any) -> list[dict[Any, Any]]:
    return (
        [entry for entry in cast(list[Any], value) if isinstance(entry, dict)]
        if isinstance(value, list)
        else []
    )


def _set_of(entry: dict[Any, Any]) -> tuple[str, ...]:
    """What tells one data set from another: an entry that differs in any of these may hold other examples."""
    names = ("path", "name", "split", "data_files", "revision", "shards", "ds_type")
    return tuple(repr(entry.get(name)) for name in names)
