"""A loop of the script's own: which model its optimizer steps, in what precision, and whether all of it is trained."""

from trimtab.checks.document import Document
from trimtab.checks.kinds.concept_map import Concepts, put
from trimtab.checks.kinds.huggingface.loading import dtype_word
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import optimizers_made, root
from trimtab.checks.read.flow.values import Event, Flow, Value
from trimtab.checks.setting import Setting

_ADAPTING = (
    "get_peft_model",
    "add_adapter",
    "LoraConfig",
    "inject_adapter_in_model",
    "prepare_model_for_kbit_training",
)
_HALVES = {"bfloat16": "bf16", "half": "fp16", "float": "fp32", "double": "fp64"}


def own_loop_concepts(document: Document) -> Concepts:
    """Of the one model that an optimizer of the script is given whole: its adapter (none) and its dtype."""
    flow, concepts = flow_of(document), Concepts()
    trained = trained_models(flow)
    if len(trained) != 1 or not flow.is_whole:
        return concepts
    event, model = trained[0]
    if any(True for _ in flow.named(*_ADAPTING)) or _is_frozen_in_part(flow):
        return concepts
    put(concepts, "adapter", Setting(key=event.name, value="none", place=event.place, origin="default"))
    casts = [cast for cast in flow.named("to", *_HALVES) if root(cast.subject) is model]
    if any(
        block.kind in ("if", "else")
        for cast in casts
        if _HALVES.get(cast.name) or _dtype_of(cast)
        for block in cast.path
    ):
        return concepts  # an option decides
    for default in flow.named("set_default_dtype"):
        word = _dtype_of(default)
        if word is not None and not default.path and default.index < model.index:
            put(concepts, "weights_dtype", Setting(key=default.name, value=word, place=default.place))
    for cast in casts:
        word = _HALVES.get(cast.name) or _dtype_of(cast)
        if word is not None:
            put(concepts, "weights_dtype", Setting(key=cast.name, value=word, place=cast.place))
    return concepts


def trained_models(flow: Flow) -> list[tuple[Event, Value]]:
    """Where an optimizer is made with all parameters of a model, and that model."""
    found: list[tuple[Event, Value]] = []
    for event in optimizers_made(flow):
        if event.value.of is not None:
            continue
        given = event.value.argument(0, "params")
        is_whole = (
            given is not None and given.made == "call" and given.name in ("parameters", "named_parameters")
        )
        model = root(given.of) if given is not None and is_whole else None
        if model is not None:
            found.append((event, model))
    return found


def _dtype_of(cast: Event) -> str | None:
    for value in (*cast.value.args, *cast.value.keywords.values()):
        if value.made == "imported" and value.name.startswith("torch."):
            word = dtype_word(value.name)
            if word is not None:
                return word
    return None


def _is_frozen_in_part(flow: Flow) -> bool:
    """Whether the script switches gradients of some weights off."""
    if any(event.value.constant is False for event in flow.sets("requires_grad")):
        return True
    return any(
        event.value.args and event.value.args[0].constant is False for event in flow.named("requires_grad_")
    )
