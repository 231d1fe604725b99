"""L113 labels-shifted-twice"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import forwards, is_causal, without_gradients
from trimtab.checks.read.flow.slices import is_tail_of
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
    symptoms=("generates nonsense although the loss is low", "skips words", "loss is high"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where a causal model of transformers gets ids without their end, and the same ids without their start."""
    flow = flow_of(run.document)
    for event in forwards(flow.events):
        labels, inputs = event.value.keywords.get("labels"), event.value.argument(0, "input_ids")
        if labels is None or inputs is None or not is_causal(event.value.of) or without_gradients(event):
            continue
        if is_tail_of(labels, inputs):
            yield RULE.at(event.place)
            return
