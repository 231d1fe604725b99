"""S128 mean-of-means"""

from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.document import UNKNOWN, Entry
from trimtab.checks.evidence import Arithmetic, Maintainer, Measured
from trimtab.checks.own_key import calls_of, own
from trimtab.checks.place import Place
from trimtab.checks.read.flow.loops import training_loops
from trimtab.checks.read.flow.losses import CrossEntropy, cross_entropies
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import is_causal, loaded_class
from trimtab.checks.read.flow.values import Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.setting import Setting
from trimtab.finding import Severity

RULE = Rule(
    code="S128",
    name="mean-of-means",
    severity="warning",
    message="{accumulation} are averaged, each with its own mean loss: tokens of short ones weigh more ({who})",
    why="The mean over tokens of the whole step is not the mean of the micro-batches' means where they have "
    "different numbers of target tokens. Batches of one length with masked prompts differ as well. Only full "
    "packed sequences do not.",
    evidence=(
        Measured(
            "accumulation_bias",
            "Targets of 4 to 256 bytes: the token sum is exact in every cut (2e-7); a mean of 16 means is"
            " off by 31% to 49%, and a token of the shortest targets weighs 12 to 16 times one of the "
            "longest. After 500 steps the held-out loss of the longest targets is 0.054 nats a byte "
            "higher.",
        ),
        Arithmetic(
            "Two sequences of 6 and 2 tokens: together each token weighs 1/8; apart 1/12 and 1/4, three "
            "times as much."
        ),
        Maintainer(
            "https://github.com/huggingface/accelerate/blob/main/docs/source/usage_guides/gradient_accumulation.md",
            "For token-level tasks the loss should be the total over the accumulation divided by all tokens that are "
            "no padding: "
            '"This is not the same as the average of the per-batch loss values".',
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/pull/34198",
            "transformers 4.46 brought num_items_in_batch; the Trainer of 4.45 does not have it.",
            opened=False,
        ),
    ),
    fix=Fix("{fix}"),
    bad=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 1, "gradient_accumulation_steps": 16}',
        versions="transformers=4.45.2",
    ),
    good=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 1, "gradient_accumulation_steps": 16}',
        versions="transformers=4.57.0",
    ),
    aliases=("ACC001", "ACC003", "TT104"),
    tips=("S0-96", "S0-97"),
    symptoms=(
        "loss is higher with gradient accumulation",
        "accumulation trains worse than a large batch",
        "different loss on two GPUs than on one",
        "multi-GPU loss is higher than on one GPU",
        "loss depends on the number of GPUs with the same global batch",
    ),
)

COUNTS_SINCE = (4, 46)
_BY_EXAMPLE = (
    "ForSequenceClassification", "ForAudioClassification", "ForImageClassification", "ForMultipleChoice", "ForCTC",
    "ForVideoClassification",
)  # fmt: skip
"""Models whose loss is a mean over examples, of which micro-batches have the same number."""
_TEXT = (
    "tokeniz",
    "input_ids",
    "vocab",
    "-100",
    "ignore_index",
    "LanguageModel",
    "transformers",
    "litgpt",
    "nlp",
)
"""Signs of targets that differ in number from batch to batch."""
_LIGHTNING = frozenset({"lightning", "pytorch_lightning"})


def check(run: Description) -> Iterator[Diagnosis]:
    """The Trainer before 4.46, Lightning's, which divides by the number of micro-batches, and loops that do so."""
    yield from _own_loops(run)
    apart = own(run, "average_tokens_across_devices")
    if apart is not None and apart.value is False and run.tool in ("transformers", "trl", "llamafactory"):
        who = "token counts are not summed over processes"
        fix = "remove `average_tokens_across_devices`: it is on by default, and does nothing on one device"
        yield RULE.at(apart, accumulation="the batches of all processes", who=who, fix=fix)
    accumulation = run.setting("accumulation")
    version = run.version("transformers")
    is_old = (
        version is not None and version < COUNTS_SINCE and run.tool in ("transformers", "trl", "llamafactory")
    )
    is_packed = run.value("packing") is True
    if (
        is_old
        and accumulation is not None
        and accumulation.value > 1
        and not is_packed
        and not says(run.document, *_BY_EXAMPLE)
    ):
        where = accumulation if accumulation.is_written else run.place
        yield _told(where, accumulation.value, "transformers before 4.46", "use transformers 4.46 or newer")
    if _LIGHTNING & run.document.imports:
        severity = None if says(run.document, *_TEXT) else "note"
        for call in calls_of(run, "Trainer"):
            entry: Entry | None = call.arguments.get("accumulate_grad_batches")
            if call.name == "Trainer" and entry is not None and type(entry.value) is int and entry.value > 1:
                yield _told(
                    entry.place,
                    entry.value,
                    "Lightning divides by accumulate_grad_batches",
                    "sum the loss, and divide by the target tokens of the whole step in the module",
                    severity=severity,
                )


def _told(
    where: Setting | Place, accumulation: int, who: str, fix: str, *, severity: Severity | None = None
) -> Diagnosis:
    return RULE.at(where, severity=severity, accumulation=f"{accumulation} micro-batches", who=who, fix=fix)


def _own_loops(run: Description) -> Iterator[Diagnosis]:
    """Loops that divide the mean loss of a language model by the number of micro-batches, over labels that are masked;
    and processes whose gradients DDP averages, over a loss that leaves labels out."""
    flow = flow_of(run.document)
    if not training_loops(flow) or not says(run.document, "-100") or says(run.document, "num_items_in_batch"):
        return
    for loop in training_loops(flow):
        loss = loop.backward.subject
        if loss is None or loss.made != "binary" or loss.name != "/" or not _is_mean(loss.args[0]):
            continue
        number = loss.args[1].constant
        if number is not UNKNOWN and type(number) is not int:
            continue
        if number is UNKNOWN and "accum" not in (loss.args[1].label or loss.args[1].name).lower():
            continue
        fix = "count the target tokens of the whole step first, and divide each sum of losses by that number"
        who = "the loop divides by their number"
        what = f"{number} micro-batches" if number is not UNKNOWN else "micro-batches"
        yield RULE.at(loop.backward.place, accumulation=what, who=who, fix=fix)
        return
    if any(True for _ in flow.named("DistributedDataParallel", "DDP")):
        for loss in cross_entropies(flow):
            if loss.ignore_index is not None and loss.is_mean and _has_backward(flow, loss):
                fix = 'sum (`reduction="sum"`), all_reduce the count, and multiply by the number of processes'
                who = "DDP averages over processes"
                what = "the batches of all processes"
                yield RULE.at(loss.event.place, severity="note", accumulation=what, who=who, fix=fix)
                return


def _is_mean(value: Value) -> bool:
    """Whether a loss is what a language model of transformers returns."""
    found = value.of if value.made in ("attribute", "item") else value
    if found is None or found.made != "call" or found.of is None:
        return False
    name = loaded_class(found.of)
    return is_causal(found.of) or "Seq2SeqLM" in name or name.endswith("ForConditionalGeneration")


def _has_backward(flow: Flow, loss: CrossEntropy) -> bool:
    return any(
        any(part is loss.event.value for part in walk(event.subject, most=30))
        for event in flow.named("backward")
    )
