"""S139 optimizer-of-old-weights"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.document import UNKNOWN
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import optimizers_made, options, root
from trimtab.checks.read.flow.values import Block, Event, Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.finding import Severity

_BEGIN = (
    "import torch\nfrom transformers import AutoModelForCausalLM, AutoTokenizer\n"
    'tokenizer = AutoTokenizer.from_pretrained("gpt2")\ntokenizer.add_tokens(["<|user|>"])\n'
    'model = AutoModelForCausalLM.from_pretrained("gpt2")\n'
)
_MAKE = "optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)\n"
_RESIZE = "model.resize_token_embeddings(len(tokenizer))\n"
_LOOP = "for batch in loader:\n    model(**batch).loss.backward()\n    optimizer.step()\n    optimizer.zero_grad()\n"

RULE = Rule(
    code="S139",
    name="optimizer-of-old-weights",
    severity="error",
    message="the optimizer was made before {what}: the new weights are not trained",
    why="An optimizer keeps the parameters that it was given. What is added or replaced later is not among them: "
    "it gets "
    "gradients, and no step ever changes it. Nothing fails, and the loss still falls by the rest.",
    evidence=(
        Arithmetic(
            "`resize_token_embeddings` makes a new Parameter: `id()` of the weight before and after differ, and the "
            "optimizer's group holds the first."
        ),
        Maintainer(
            "https://huggingface.co/docs/peft/developer_guides/troubleshooting",
            "'Therefore, make sure to activate all adapters that should be trained before initializing the optimizer'.",
        ),
    ),
    fix=Fix("make the optimizer after {what}"),
    bad=Example("train.py", _BEGIN + _MAKE + _RESIZE + _LOOP),
    good=Example("train.py", _BEGIN + _RESIZE + _MAKE + _LOOP),
    symptoms=(
        "new tokens are not learned",
        "loss flat",
        "model learns nothing",
        "fine-tuning has no effect",
        "weights are the same before and after optimizer.step()",
        "parameters of the optimizer are not those of the model",
    ),
)
_CHANGES = {
    "resize_token_embeddings": "the embeddings are resized",
    "get_peft_model": "the adapter is added",
    "add_adapter": "the adapter is added",
    "FullyShardedDataParallel": "FSDP wraps the model",
    "FSDP": "FSDP wraps the model",
    "LoraModel": "the adapter is added",
}


def check(run: Description) -> Iterator[Diagnosis]:
    """Follows the model from the optimizer that is given its parameters to what replaces some of them, in a straight
    line; an optimizer that is made again, or given the new ones, is left in peace."""
    flow = flow_of(run.document)
    steps = {id(each) for event in flow.named("step") for each in walk(event.subject, most=3)}
    steps |= {id(each) for event in flow.named("step", "prepare") for each in event.value.args}
    for event in optimizers_made(flow):
        if event.value.of is not None:
            continue
        model = _model_of(event.value)
        if model is None or id(event.value) not in steps:
            continue
        found = _replaced(flow, event, model)
        if found is not None and not _is_given_more(flow, event.value):
            what, severity = found
            yield RULE.at(event.place, severity=severity, what=what)


def _model_of(optimizer: Value) -> Value | None:
    """The model all of whose parameters an optimizer is given."""
    given = optimizer.argument(0, "params")
    if given is not None and given.made == "list" and given.args:
        groups = [each.keywords.get("params") for each in given.args]
        models = [
            root(part.of)
            for group in groups
            for part in walk(group, most=12)
            if part.made == "call" and part.last == "named_parameters"
        ]
        is_whole = len(models) == len(groups) > 1 and all(each is models[0] for each in models)
        return models[0] if is_whole else None
    given = _chosen_from(given)
    if given is None or given.made != "call" or given.last not in ("parameters", "named_parameters"):
        return None
    return root(given.of)


def _chosen_from(given: Value | None) -> Value | None:
    """What trainable parameters are chosen from: `filter(lambda p: p.requires_grad, model.parameters())`."""
    if given is not None and given.made == "element" and given.of is not None:
        return given.of
    if given is not None and given.made == "call" and given.last in ("filter", "list") and given.args:
        return _chosen_from(given.args[-1]) or given.args[-1]
    return given


def _replaced(flow: Flow, made: Event, model: Value) -> tuple[str, Severity | None] | None:
    """What replaces weights behind the optimizer, and how sure that is."""
    last = max((event.index for event in flow.named("step") if _is_of(event, made.value)), default=-1)
    around = _caller(made)
    for event in flow.events[made.index + 1 : last + 1]:
        if event.path[: len(around)] != around:
            continue
        if event.kind == "call" and event.name in _CHANGES and _is_about(event, model):
            if event.name != "resize_token_embeddings" or _may_grow(flow, event):
                return _CHANGES[event.name], None
            if _is_of_other_name(event, model):
                return _CHANGES[event.name], "note"
            continue
        is_layer = event.kind == "set" and event.subject is not None and root(event.subject) is model
        if (
            is_layer
            and event.value.made == "call"
            and event.value.name.startswith("torch.nn.")
            and event.name != "training"
        ):
            is_wrapper = event.value.last.endswith("Parallel")
            return (f"`{event.name}` is replaced", None) if not is_wrapper else None
    return None


def _caller(made: Event) -> tuple[Block, ...]:
    """The blocks around the optimizer, without functions that do no more than make it and give it back."""
    path = made.path
    while path and path[-1].kind == "function" and any(each is made.value for each in path[-1].returned):
        path = path[:-1]
    return path


def _is_of(step: Event, optimizer: Value) -> bool:
    """Whether an event is a step of the optimizer, by itself or through a scaler."""
    return any(each is optimizer for each in (*walk(step.subject, most=3), *step.value.args))


def _is_about(event: Event, model: Value) -> bool:
    first = event.value.argument(0, "model")
    return root(event.subject) is model or (
        event.value.of is None and first is not None and root(first) is model
    )


def _may_grow(flow: Flow, event: Event) -> bool:
    """Without new tokens a resize to the tokenizer's size may change nothing; a pad token alone is no text."""
    return (
        any(True for _ in flow.named("add_tokens", "add_special_tokens"))
        or type(event.value.args[0].constant if event.value.args else None) is int
    )


def _is_of_other_name(event: Event, model: Value) -> bool:
    """Whether the size is that of a tokenizer that may be loaded from elsewhere than the model."""
    size = event.value.args[0] if event.value.args else None
    if size is None or size.made != "call" or size.name != "len" or not size.args or not model.args:
        return False
    loaded = [
        each for each in options(size.args[0]) if each.made == "call" and each.last == "from_pretrained"
    ]
    names = [each.args[0] for each in loaded if each.args]
    own = model.args[0]
    return any(
        each is not own and (each.constant is UNKNOWN or each.constant != own.constant) for each in names
    )


def _is_given_more(flow: Flow, optimizer: Value) -> bool:
    return any(event.subject is optimizer for event in flow.named("add_param_group"))
