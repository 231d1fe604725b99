"""E113 trained-in-evaluation-mode"""

from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.loops import stepped, training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import forwards, options, root, without_gradients
from trimtab.checks.read.flow.values import Event, Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom transformers import AutoModelForCausalLM\n"
    'model = AutoModelForCausalLM.from_pretrained("gpt2")\n'
    "optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)\n{mode}for batch in loader:\n"
    "    model(**batch).loss.backward()\n    optimizer.step()\n    optimizer.zero_grad()\n"
)

RULE = Rule(
    code="E113",
    name="trained-in-evaluation-mode",
    severity="warning",
    message="`{model}` comes from `from_pretrained`, which sets evaluation mode, and is trained without `train()`",
    why="`from_pretrained` calls `model.eval()` before it gives a model back. Without `train()` the loop runs with "
    "dropout switched off, and recomputation of activations, which asks for training mode, does nothing either. The "
    "loss looks better than it should, and the model overfits sooner.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/modeling_utils.py",
            "'The model is set in evaluation mode by default using `model.eval()` (Dropout modules are "
            "deactivated). To "
            "train the model, you should first set it back in training mode with `model.train()`.'",
        ),
        Maintainer(
            "https://github.com/huggingface/diffusers/pull/1012",
            "The script of DreamBooth trained its text encoder that way.",
        ),
    ),
    fix=Fix("call `{model}.train()` before the loop, and again behind each evaluation"),
    bad=Example("train.py", _SCRIPT.format(mode="")),
    good=Example("train.py", _SCRIPT.format(mode="model.train()\n")),
    symptoms=(
        "dropout has no effect",
        "overfits quickly",
        "gradient checkpointing saves no memory",
        "model.train() is never called after from_pretrained",
    ),
)
_FOLLOWED = ("torch.", "transformers.", "peft.", "accelerate.", "bitsandbytes.", "builtins.", "copy.")
"""Libraries that leave the mode of a model that they are given."""


def check(run: Description) -> Iterator[Diagnosis]:
    """A model that the script loads from transformers, whose parameters an optimizer that steps in a loop is given,
    and that nothing in the script switches to training."""
    flow = flow_of(run.document)
    if (
        not flow.is_whole
        or not training_loops(flow)
        or not says(run.document, "from_pretrained", "from_config")
        or says(run.document, "Trainer(")
    ):
        return
    switched = [root(event.subject) for event in flow.named("train", "prepare_model_for_kbit_training")]
    given = [root(each) for event in flow.named("train") for each in event.value.args]
    trained: list[Value] = []
    for loop in training_loops(flow):
        for step in loop.steps():
            trained += [model for each in options(stepped(step)) for model in _models_of(each)]
    is_frozen = says(run.document, "requires_grad")
    parts = {} if switched or given or is_frozen else {id(model): _part_of(model) for model in trained}
    idle = _never_trained(flow)
    for model in dict.fromkeys(trained):
        if any(each is model for each in idle):
            continue
        part = parts.get(id(model))
        if part is not None and part.place is not None and not _is_known_elsewhere(flow, model):
            yield RULE.at(part.place, model=part.label or "model")
            return
        if not _is_loaded(model) or any(each is model for each in (*switched, *given)):
            continue
        if not _is_known_elsewhere(flow, model) and model.place is not None:
            yield RULE.at(model.place, model=model.label or "model")
            return


def _never_trained(flow: Flow) -> list[Value]:
    """Models that only run without gradients, such as a teacher whose weights an optimizer is given all the same."""
    runs: dict[int, list[Event]] = {}
    models: dict[int, Value] = {}
    for event in forwards(flow.events):
        model = root(event.value.of)
        if model is not None:
            models[id(model)] = model
            runs.setdefault(id(model), []).append(event)
    return [models[key] for key, events in runs.items() if all(without_gradients(each) for each in events)]


def _models_of(optimizer: Value) -> list[Value]:
    """The models all of whose parameters an optimizer is given."""
    found: list[Value] = []
    for each in walk(optimizer.argument(0, "params"), most=60):
        if each.made == "call" and each.name in ("parameters", "named_parameters") and each.of is not None:
            model = root(each.of)
            found += [model] if model is not None else []
    return found


def _is_loaded(model: Value) -> bool:
    """`from_pretrained` of a class of transformers; the models of diffusers and timm have little dropout to lose."""
    return model.made == "call" and model.last == "from_pretrained" and model.name.startswith("transformers.")


def _part_of(model: Value) -> Value | None:
    """The loaded part of a module of the script, which is made in training mode and leaves its parts as they are."""
    if model.made != "object":
        return None
    found = [each for each in model.fields.values() if _is_loaded(each)]
    return found[0] if len(found) == 1 and "Model" in found[0].name.rpartition(".")[0] else None


def _is_known_elsewhere(flow: Flow, model: Value) -> bool:
    """Whether code that cannot be seen is given the model and may switch it, or its parts are switched one by one."""
    for event in flow.events:
        if event.kind != "call":
            continue
        if event.name == "train" and _is_part(event, model):
            return True
        callee = event.value
        is_hidden = callee.of is None and "." in callee.name and not callee.name.startswith(_FOLLOWED)
        if is_hidden and any(root(each) is model for each in (*callee.args, *callee.keywords.values())):
            return True
    return False


def _is_part(event: Event, model: Value) -> bool:
    return any(each is model for each in walk(event.subject, most=20))
