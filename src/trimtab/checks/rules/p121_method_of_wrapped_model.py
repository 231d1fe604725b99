"""P121 method-of-wrapped-model"""

from collections.abc import Iterator
from typing import Final

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.accelerators import accelerators, is_accelerator
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import loaded_class, options, root
from trimtab.checks.read.flow.values import Event, Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n"
    "from transformers import AutoModelForCausalLM\ntorch.distributed.init_process_group('nccl')\n"
    "model = AutoModelForCausalLM.from_pretrained('gpt2').cuda()\nmodel = DDP(model)\n"
    "optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)\nfor batch in loader:\n"
    "    optimizer.zero_grad()\n    model(**batch).loss.backward()\n    optimizer.step()\n"
    "if torch.distributed.get_rank() == 0:\n    {model}.save_pretrained('out')\n"
)

RULE = Rule(
    code="P121",
    name="method-of-wrapped-model",
    severity="error",
    message="{wrapped} has no `{method}`: AttributeError{when}",
    why="The wrapper passes `forward` on and keeps the model in its `module`; the model's other methods and attributes "
    "are not its own. What follows training, such as saving, then fails after all the work is done.",
    evidence=(
        Maintainer(
            "https://github.com/pytorch/pytorch/blob/v2.13.0/torch/nn/parallel/distributed.py",
            "`self.module = module` is all that the class does with the model; `__getattr__` is that of nn.Module.",
        ),
        Maintainer(
            "https://huggingface.co/docs/accelerate/usage_guides/checkpoint",
            "`unwrapped_model = accelerator.unwrap_model(model)` before `unwrapped_model.save_pretrained(...)`.",
        ),
    ),
    fix=Fix("{fix}", safety="same training"),
    bad=Example("train.py", _SCRIPT.replace("{model}", "model")),
    good=Example("train.py", _SCRIPT.replace("{model}", "model.module")),
    symptoms=(
        "'DistributedDataParallel' object has no attribute 'save_pretrained'",
        "'DistributedDataParallel' object has no attribute 'generate'",
        "'DistributedDataParallel' object has no attribute 'config'",
        "'DataParallel' object has no attribute 'save_pretrained'",
        "AttributeError when the model is saved after training on several GPUs",
        "object has no attribute 'save_pretrained' after wrapping",
    ),
)
_METHODS: Final = (
    "save_pretrained", "push_to_hub", "generate", "resize_token_embeddings", "get_input_embeddings",
    "merge_and_unload", "gradient_checkpointing_enable", "enable_input_require_grads", "save_lora_weights",
)  # fmt: skip
_SETTINGS: Final = ("config", "generation_config")
_UNWRAPS: Final = (
    "unwrap_model",
    "extract_model_from_parallel",
    "unwrap(",
    "hasattr(",
    "isinstance(",
    "getattr(",
)
_TORCHS: Final = ("torch.nn.parallel.", "torch.nn.DataParallel")


def check(run: Description) -> Iterator[Diagnosis]:
    """What models of transformers and PEFT have and no wrapper, asked of what torch's wrappers or Accelerate gave
    back."""
    if not says(run.document, *(f".{name}(" for name in _METHODS), *(f".{name}." for name in _SETTINGS)):
        return
    flow = flow_of(run.document)
    reported: set[str] = set()
    for event, model, name in _uses(flow):
        if name in reported:
            continue
        wrapper, label = _wrapper(model), f"`{model.label or 'model'}`"
        if wrapper is not None:
            is_open = len(options(model)) > 1 or _is_in_other_branch(flow, wrapper, event)
            if is_open and says(run.document, ".module", *_UNWRAPS):
                continue
            what = f"{label}, a {wrapper.last if wrapper.last != 'DDP' else 'DistributedDataParallel'},"
            fix = f"write `{model.label or 'model'}.module.{name}`"
            when, severity = (" where it is wrapped", "warning") if is_open else ("", None)
        elif _is_prepared(run, flow, event, model):
            what, when, severity = (
                f"{label}, which Accelerate prepared,",
                " with two or more processes",
                "warning",
            )
            fix = f"write `accelerator.unwrap_model(model).{name}`"
        else:
            continue
        reported.add(name)
        yield RULE.at(event.place, severity=severity, method=name, wrapped=what, when=when, fix=fix)


def _uses(flow: Flow) -> Iterator[tuple[Event, Value, str]]:
    """Each use of what a wrapper lacks, with the model that it is asked of: methods, and what is set on `config`."""
    for event in flow.named(*_METHODS):
        if event.subject is not None:
            yield event, event.subject, event.name
    for event in flow.each("set"):
        of = event.subject
        if of is not None and of.made == "attribute" and of.name in _SETTINGS and of.of is not None:
            yield event, of.of, of.name


def _wrapper(value: Value) -> Value | None:
    """The call of a wrapper of torch that a value is, or that it is in one of two branches."""
    for each in options(value):
        is_theirs = each.last in ("DistributedDataParallel", "DDP", "DataParallel") and each.name.startswith(
            _TORCHS
        )
        if each.made == "call" and each.args and is_theirs:
            return each
    return None


def _is_in_other_branch(flow: Flow, wrapper: Value, event: Event) -> bool:
    """Whether the model is wrapped in a branch that the call is not in: an attribute keeps what the branch gave it."""
    made = next((each for each in flow.each("call") if each.value is wrapper), None)
    around = [block for block in made.path if block.kind in ("if", "else")] if made is not None else []
    return any(not event.within(block) for block in around)


def _is_prepared(run: Description, flow: Flow, event: Event, model: Value) -> bool:
    """Whether a model was loaded here and prepared for training before, in a script that nowhere unwraps one."""
    if len(options(model)) != 1 or not accelerators(run.document) or says(run.document, *_UNWRAPS):
        return False
    loaded = root(model)
    if loaded is None or not loaded_class(loaded) or model.name == "module":
        return False
    return any(
        is_accelerator(each.subject)
        and len(each.value.args) > 1
        and each.index < event.index
        and any(part is loaded for given in each.value.args for part in walk(given, most=4))
        for each in flow.named("prepare")
    )
