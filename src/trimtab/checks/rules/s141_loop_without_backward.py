"""S141 loop-without-backward"""

from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import forwards, innermost_loop, loaded_class, root, without_gradients
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom transformers import AutoModelForSeq2SeqLM\n"
    'model = AutoModelForSeq2SeqLM.from_pretrained("facebook/bart-base")\n'
    "optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)\nfor batch in loader:\n"
    '    loss = model(input_ids=batch["x"], labels=batch["y"]).loss\n{step}model.save_pretrained("tuned")\n'
)

RULE = Rule(
    code="S141",
    name="loop-without-backward",
    severity="error",
    message="the loop computes a loss, and no gradient is ever made: the model that is saved is the one that was "
    "loaded",
    why="A call of the model with labels only returns a loss. Weights change in `optimizer.step()`, by gradients that "
    "`loss.backward()` has made.",
    evidence=(
        Arithmetic("Without a step the weights after n turns are those before the first, whatever n is."),
    ),
    fix=Fix("call `loss.backward()`, `optimizer.step()` and `optimizer.zero_grad()` in the loop"),
    bad=Example("train.py", _SCRIPT.format(step="")),
    good=Example(
        "train.py",
        _SCRIPT.format(step="    loss.backward()\n    optimizer.step()\n    optimizer.zero_grad()\n"),
    ),
    symptoms=("model learns nothing", "fine-tuning has no effect", "loss flat"),
)
_TRAINING = (
    "backward",
    "Trainer",
    "value_and_grad",
    ".grad(",
    "train_step",
    "training_step",
    ".fit(",
    "train_batch",
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where a script calls its loaded model with labels in a loop, gradients on, saves it, and nothing in it can
    train."""
    flow = flow_of(run.document)
    if says(run.document, *_TRAINING, "no_grad", "inference_mode") or not flow.is_whole:
        return
    saved = [root(event.subject) for event in flow.named("save_pretrained", "push_to_hub")]
    for event in forwards(flow.events):
        model = root(event.value.of)
        if "labels" not in event.value.keywords or innermost_loop(event) is None or without_gradients(event):
            continue
        if loaded_class(model) and any(each is model for each in saved):
            yield RULE.at(event.place)
            return
