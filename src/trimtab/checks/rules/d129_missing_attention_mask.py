"""D129 missing-attention-mask"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import loaded_class
from trimtab.checks.read.flow.slices import plain
from trimtab.checks.read.flow.values import Event, Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom transformers import AutoModelForSequenceClassification, AutoTokenizer\n"
    "tokenizer = AutoTokenizer.from_pretrained('google-bert/bert-base-uncased')\n"
    "model = AutoModelForSequenceClassification.from_pretrained('google-bert/bert-base-uncased')\nmodel.train()\n"
    "optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)\nfor texts, labels in loader:\n"
    "    batch = tokenizer(texts, padding=True, truncation=True, return_tensors='pt')\n"
    "    model(batch['input_ids']{mask}, labels=labels).loss.backward()\n    optimizer.step()\n    "
    "optimizer.zero_grad()\n"
)

RULE = Rule(
    code="D129",
    name="missing-attention-mask",
    severity="warning",
    message="a padded batch is passed to `{model}` without `attention_mask`: the model attends to padding",
    why="Without a mask the models of transformers attend to every position. What a text is padded with then "
    "depends on the "
    "longest text of its batch, and so does the result.",
    evidence=(
        Maintainer(
            "https://huggingface.co/docs/transformers/troubleshooting#incorrect-output-when-padding-tokens-arent-masked",
            "'In some cases, the output hidden_state may be incorrect if the input_ids include padding tokens.' "
            "Pass an "
            "attention_mask.",
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/blob/main/src/transformers/modeling_utils.py",
            "'We strongly recommend passing in an `attention_mask` since your input_ids may be padded.'",
        ),
    ),
    fix=Fix("pass `attention_mask=`, or the whole batch: `{model}(**batch)`"),
    bad=Example("train.py", _SCRIPT.replace("{mask}", "")),
    good=Example("train.py", _SCRIPT.replace("{mask}", ", attention_mask=batch['attention_mask']")),
    symptoms=("results depend on the batch size", "We strongly recommend passing in an `attention_mask`"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Ids of a tokenizer that pads, as the only text input of a model of transformers, or of its `generate`."""
    if "diffusers" in run.document.imports:
        return  # the text encoders of Stable Diffusion and Flux were trained with their padding
    flow = flow_of(run.document)
    for event in flow.named("__call__", "generate"):
        call = event.value
        if call.has_rest or "attention_mask" in call.keywords or len(call.args) > 1 or call.of is None:
            continue
        given = call.argument(0, "input_ids") or call.keywords.get("inputs")
        if given is not None and loaded_class(call.of) and _is_padded(given):
            yield RULE.at(event.place, model=_shown(event))
            return


def _is_padded(value: Value) -> bool:
    ids = plain(value)
    if ids is None or ids.of is None:
        return False
    is_ids = (ids.made == "attribute" and ids.name == "input_ids") or (
        ids.made == "item" and bool(ids.args) and ids.args[0].constant == "input_ids"
    )
    batch = plain(ids.of)
    if (
        not is_ids
        or batch is None
        or batch.made != "call"
        or batch.of is None
        or "okenizer" not in batch.of.name
    ):
        return False
    padding = batch.keywords.get("padding")
    texts = batch.args[0] if batch.args else None
    is_one = texts is None or texts.made == "constant" or (texts.made == "list" and len(texts.args) < 2)
    return padding is not None and padding.constant in (True, "longest", "max_length") and not is_one


def _shown(event: Event) -> str:
    of = event.value.of
    name = "model" if of is None else of.label or "model"
    return f"{name}.generate" if event.name == "generate" else name
