"""L113 labels-shifted-twice"""

from collections.abc import Iterator
from typing import Final

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.place import Place
from trimtab.checks.read.flow.batches import part_of_batch
from trimtab.checks.read.flow.losses import cross_entropies
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import (
    forwards,
    is_causal,
    is_causal_class,
    loaded_class,
    without_gradients,
)
from trimtab.checks.read.flow.slices import is_next_of, is_tail_of, plain
from trimtab.checks.read.flow.values import Flow, Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom transformers import AutoModelForCausalLM\n"
    'model = AutoModelForCausalLM.from_pretrained("gpt2")\n'
    "optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)\nfor ids in loader:\n"
    "    loss = model(input_ids={inputs}, labels={labels}).loss\n    loss.backward()\n    optimizer.step()\n"
    "    optimizer.zero_grad()\n"
)

RULE = Rule(
    code="L113",
    name="labels-shifted-twice",
    severity="error",
    message="labels are shifted by one here, and the model shifts them by one again: it learns to skip a token",
    why="Causal language models of transformers compare position i with label i + 1 themselves. Labels that are "
    "shifted before are the token after the next: the loss falls, and what is written skips every second word.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/loss/loss_utils.py",
            "ForCausalLMLoss pads the labels on the right and takes `labels[..., 1:]`: 'Shift so that tokens < n "
            "predict n'.",
        ),
        Arithmetic("inputs t0 t1 t2, labels t1 t2 t3: after the shift position 0 is compared with t2."),
    ),
    fix=Fix("give the same ids to `input_ids` and `labels`; the model shifts them"),
    bad=Example("train.py", _SCRIPT.format(inputs="ids[:, :-1]", labels="ids[:, 1:]")),
    good=Example("train.py", _SCRIPT.format(inputs="ids", labels="ids")),
    symptoms=(
        "generates nonsense although the loss is low",
        "skips words",
        "loss is high",
        "labels = input_ids[:, 1:] with a Hugging Face model",
        "model skips every second word",
    ),
)


_MAKERS: Final = frozenset({"tensor", "as_tensor", "LongTensor", "from_numpy", "array", "stack", "list"})
"""What makes a tensor of ids that are written as a list."""


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where a causal model of transformers gets ids without their end, and the same ids without their start: in
    the call, or in the examples of a script whose model computes the loss."""
    flow = flow_of(run.document)
    for event in forwards(flow.events):
        labels, inputs = event.value.keywords.get("labels"), event.value.argument(0, "input_ids")
        if labels is None or inputs is None or not is_causal(event.value.of) or without_gradients(event):
            continue
        one, other = (
            _bare(part_of_batch(plain(labels)) or labels),
            _bare(part_of_batch(plain(inputs)) or inputs),
        )
        if is_tail_of(one, other) or is_next_of(one, other) or _is_rolled(labels, inputs):
            yield RULE.at(event.place)
    if _loss_is_the_models(run, flow):
        for inputs, labels, place in _examples(flow):
            if is_tail_of(_bare(labels), _bare(inputs)) or is_next_of(_bare(labels), _bare(inputs)):
                yield RULE.at(place)
                return


def _loss_is_the_models(run: Description, flow: Flow) -> bool:
    """Whether all models of transformers in a script are causal ones that are given the whole batch."""
    if not says(run.document, "labels") or says(run.document, "shift_labels", "compute_loss", "input_embeds"):
        return False
    loaded = [loaded_class(event.value) for event in flow.named("from_pretrained", "from_config")]
    models = [name for name in loaded if "For" in name or "LMHead" in name]
    if not models or not all(is_causal_class(name) for name in models) or cross_entropies(flow):
        return False
    takes_all = any(event.value.has_rest and is_causal(event.value.of) for event in forwards(flow.events))
    trains = any(event.value.name.startswith(("transformers.", "trl.")) for event in flow.named("Trainer"))
    return takes_all or trains


def _examples(flow: Flow) -> Iterator[tuple[Value, Value, Place]]:
    """Ids and labels of each mapping that a function gives back, and of each batch that is given both."""
    reported: set[int] = set()
    for event in flow.events:
        for block in event.path:
            if block.kind != "function" or id(block) in reported or block.place is None:
                continue
            reported.add(id(block))
            for each in block.returned:
                inputs, labels = each.keywords.get("input_ids"), each.keywords.get("labels")
                if inputs is not None and labels is not None:
                    yield _appended(flow, inputs), _appended(flow, labels), block.place
    for event in flow.sets("[]"):
        batch = event.subject
        if event.item is None or event.item.constant != "labels" or batch is None:
            continue
        inputs = batch.fields.get("['input_ids']")
        if inputs is not None:
            yield inputs, event.value, event.place


def _appended(flow: Flow, value: Value) -> Value:
    """Of a list that a loop fills what it is given."""
    if value.made == "list" and not value.args:
        given = [
            each.value.args[0] for each in flow.named("append") if each.subject is value and each.value.args
        ]
        return given[0] if given else value
    return value


def _bare(value: Value) -> Value:
    """The slice behind what makes a tensor of it."""
    for _ in range(4):
        value = plain(value) or value
        if value.made != "call" or value.last not in _MAKERS or not value.args:
            break
        value = value.args[0]
        if value.made == "element" and value.name == "comprehension" and value.args:
            value = value.args[0]
    return value


def _is_rolled(labels: Value, inputs: Value) -> bool:
    """`ids.roll(-1, dims=1)` and `torch.roll(ids, -1, 1)`."""
    labels = plain(labels) or labels
    if labels.made != "call" or labels.last != "roll":
        return False
    is_method = labels.of is not None and labels.of.made != "imported"
    source = labels.of if is_method else labels.argument(0, "input")
    by = labels.argument(0 if is_method else 1, "shifts")
    return by is not None and by.constant == -1 and plain(source) is plain(inputs)
