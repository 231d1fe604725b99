"""L108 loss-on-prompts"""

from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Paper
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_YAML = (
    "base_model: NousResearch/Llama-2-7b-hf\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\nadapter: "
    "lora\nlora_r: 16\nlora_alpha: 32\nlearning_rate: 0.0002\ntrain_on_inputs: {value}\ndatasets:\n  - "
    "path: data.jsonl\n    type: alpaca\n"
)

RULE = Rule(
    code="L108",
    name="loss-on-prompts",
    severity="note",
    message="prompts count in the loss ({how})",
    why="The condition decides: with long prompts and short answers, or few examples, it regularises and can "
    "help; where prompts repeat one template, most of the loss is that template, it falls fast and says "
    "little about answers.",
    evidence=(
        Paper(
            "https://arxiv.org/abs/2405.14394",
            "Over 21 benchmarks, loss on instructions helps in many scenarios, most with long instructions "
            "and brief outputs, or few examples.",
        ),
        Paper(
            "https://arxiv.org/abs/2507.07817",
            "A low to moderate weight for prompt tokens did best, in five models; neither 0 nor 1 was the "
            "best choice.",
        ),
    ),
    fix=Fix("{fix}, unless prompts are long and varied and answers are short"),
    bad=Example("axolotl.yaml", _YAML.format(value="true")),
    good=Example("axolotl.yaml", _YAML.format(value="false")),
    symptoms=("loss is low but answers are bad", "repeats the prompt"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where the file itself asks for it in supervised fine-tuning."""
    setting = run.setting("loss_on_prompt")
    if setting is not None and setting.is_written and setting.value and run.value("task") != "pretrain":
        how = f"`{setting.key}: {str(setting.value).lower()}`"
        yield RULE.at(setting, how=how, fix=f"set `{setting.key}: false`")
    if run.document.syntax == "python":
        yield from _of_scripts(run)


_MASKS = (
    "-100",
    "masked_fill",
    "loss_mask",
    "IGNORE_INDEX",
    "ignore_index",
    "completion",
    "group_texts",
    "assistant",
)
_ANSWERS = frozenset({"output", "response", "answer", "answers", "completion", "target", "reply", "solution"})


def _of_scripts(run: Description) -> Iterator[Diagnosis]:
    """Labels that are a copy of ids, of one text in which an answer stands behind something else of the example."""
    for event in flow_of(run.document).sets("[]"):
        batch = event.subject
        is_labels = event.item is not None and event.item.constant == "labels"
        if (
            not is_labels
            or batch is None
            or batch.made != "call"
            or not batch.args
            or not _is_copy(event.value, batch)
        ):
            continue
        fields = {
            str(each.args[0].constant)
            for each in walk(batch.args[0], most=60)
            if each.made == "item" and each.args
        }
        if fields & _ANSWERS and len(fields) > 1 and not says(run.document, *_MASKS):
            fix = "set the labels of the prompt to -100"
            yield RULE.at(event.place, how="labels are a copy of all ids", fix=fix)
            return


def _is_copy(value: Value, batch: Value) -> bool:
    """Whether it is the ids of a batch, copied or not."""
    for _ in range(3):
        if value.made == "call" and value.last in ("copy", "clone", "deepcopy", "list"):
            value = (
                value.of
                if value.of is not None and value.of.made != "imported"
                else (value.args or (value,))[0]
            )
    return (
        value.made == "item"
        and value.of is batch
        and bool(value.args)
        and value.args[0].constant == "input_ids"
    )
