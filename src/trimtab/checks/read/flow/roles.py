"""Which value is a model, an optimizer, a schedule, a loader: by what made it, else by what its variable is called."""

from collections.abc import Iterator
from typing import Final

from trimtab.checks.read.flow.modules import is_module
from trimtab.checks.read.flow.values import Block, Event, Flow, Value, walk

OPTIMIZERS: Final = frozenset(
    {
        "Adam", "AdamW", "NAdam", "RAdam", "Adamax", "SGD", "Adagrad", "Adadelta", "RMSprop", "ASGD", "Rprop", "Lion",
        "Adafactor", "Muon", "SparseAdam", "AdamW8bit", "AdamW4bit", "AdamWFp8", "PagedAdamW", "PagedAdamW8bit",
        "PagedAdamW32bit", "Adam8bit", "PagedAdam8bit", "Lion8bit", "PagedLion8bit", "FusedAdam", "DeepSpeedCPUAdam",
        "LAMB", "Lamb", "AdaBelief", "Ranger", "Shampoo", "SOAP", "BertAdam",
    }
)  # fmt: skip
"""Constructors of optimizers; LBFGS steps by a closure and is left out."""
_PASSED: Final = frozenset(
    {"to", "cuda", "cpu", "float", "half", "bfloat16", "double", "train", "eval", "apply"}
)
_WRAPPERS: Final = frozenset(
    {
        "DistributedDataParallel", "DataParallel", "DDP", "compile", "get_peft_model", "FullyShardedDataParallel",
        "FSDP", "prepare_model_for_kbit_training", "prepare", "setup", "convert_sync_batchnorm",
    }
)  # fmt: skip
_CAUSAL: Final = (
    "AutoModelForCausalLM",
    "LMHeadModel",
    "ForCausalLM",
    "AutoLigerKernelForCausalLM",
    "AutoModelWithLMHead",
)


def root(value: Value | None) -> Value | None:
    """The object behind moves, modes and wrappers: `DDP(model.to(device)).module` is the model."""
    for _ in range(20):
        if value is None:
            return None
        if value.made == "either" and value.args:
            value = value.args[0]
        elif (
            value.made == "call"
            and value.of is not None
            and value.name in _PASSED
            and value.of.made != "imported"
        ):
            value = value.of
        elif value.made == "call" and value.last in _WRAPPERS and value.args:
            value = value.args[0]
        elif value.made == "attribute" and value.name == "module" and value.of is not None:
            value = value.of
        else:
            return value
    return value


def options(value: Value | None) -> tuple[Value, ...]:
    """The values that one may be."""
    if value is None:
        return ()
    return value.args if value.made == "either" else (value,)


def is_optimizer(value: Value | None) -> bool:
    """Whether it is an optimizer."""
    return any(_is_optimizer(each) for each in options(value))


def optimizers_made(flow: Flow) -> list[Event]:
    """Every call whose result is an optimizer."""
    found: list[Event] | None = flow.answers.get("<optimizers>")
    if found is None:
        found = flow.answers["<optimizers>"] = [
            event for event in flow.each("call") if is_optimizer(event.value)
        ]
    return found


def _is_optimizer(value: Value) -> bool:
    if value.made == "call" and value.of is None and value.last in OPTIMIZERS:
        return True
    if value.made in ("object", "class"):
        return False
    name = (value.label or value.name).rpartition(".")[2].lower()
    return _called(value, "optim") or name in ("opt", "opt_g", "opt_d") or name.endswith("_opt")


def is_schedule(value: Value | None) -> bool:
    """Whether it is a schedule of the learning rate."""
    return any(is_known_schedule(each) or _called(each, "sched") for each in options(value))


def is_known_schedule(value: Value) -> bool:
    """Whether a call of torch's or transformers' makes it."""
    if value.made != "call" or value.of is not None:
        return False
    return value.last.endswith("LR") or (value.last.startswith("get_") and "schedule" in value.last)


def is_scaler(value: Value | None) -> bool:
    """Whether it is a GradScaler."""
    return any(
        (each.made == "call" and each.last.endswith("GradScaler")) or _called(each, "scaler")
        for each in options(value)
    )


_NAMED: Final = ("model", "net", "network")


def is_model(value: Value | None) -> bool:
    """Whether it is seen or called to be a model."""
    found = root(value)
    if found is None or value is None:
        return False
    return (
        is_module(found)
        or any(_is_named(each) for each in options(value))
        or found.label in (*_NAMED, "self.model")
        or (found.made in ("parameter", "attribute", "unknown") and found.label.endswith("_model"))
        or found.name in ("model", "net")
    )


def _is_named(value: Value) -> bool:
    """Whether the result of a call of which nothing is known is called a model: `model = Net().cuda()`."""
    return value.made == "call" and value.label in _NAMED and not is_known_schedule(value)


def loaded_class(value: Value | None) -> str:
    """Of a model of transformers its class: `AutoModelForCausalLM`, `GPT2LMHeadModel`; empty for anything else."""
    found = root(value)
    if found is None or found.made != "call":
        return ""
    name = (
        found.name.removesuffix(f".{found.last}")
        if found.last in ("from_pretrained", "from_config")
        else found.name
    )
    return name.rpartition(".")[2]


def is_causal(value: Value | None) -> bool:
    """Whether it is a causal language model of transformers, which shifts its labels itself."""
    return is_causal_class(loaded_class(value))


def is_causal_class(name: str) -> bool:
    """Whether a class of transformers is a causal language model."""
    return name.endswith(_CAUSAL)


def _called(value: Value, part: str) -> bool:
    """Whether nothing is known of it but a name with this part."""
    if value.made in ("constant", "object", "class", "function", "list", "dict", "binary", "compare"):
        return False
    return (
        part
        in (
            value.label or (value.name if value.made in ("attribute", "parameter", "unknown") else "")
        ).lower()
    )


def innermost_loop(event: Event) -> Block | None:
    """The `for` or `while` directly around an event."""
    return next((each for each in reversed(event.path) if each.kind in ("for", "while")), None)


def is_periodic(block: Block) -> bool:
    """Whether a branch is taken every so many turns: `(i + 1) % 8 == 0`, `accelerator.sync_gradients`."""
    if block.kind not in ("if", "else"):
        return False
    return any(
        (each.made == "binary" and each.name == "%")
        or each.name == "sync_gradients"
        or is_counted(each)
        or is_asked(each)
        for each in walk(block.value)
    )


def is_asked(test: Value) -> bool:
    """Whether a test calls a method that is named for the turns that step, `is_update_step()`, or is given how many
    micro-batches a step has."""
    if test.made != "call" or test.last in ("max", "min", "int", "len"):
        return False
    is_given = any(each.made == "attribute" and each.name in _ACCUMULATIONS for each in test.args)
    return is_given or test.last.strip("_").startswith(_OF_STEPS)


_ACCUMULATIONS: Final = (
    "gradient_accumulation_steps",
    "accumulation_steps",
    "accumulate_grad_batches",
    "grad_accum_steps",
)
_OF_STEPS: Final = ("is_update_step", "is_optimizer_step", "should_step", "should_update", "is_grad_step")


def is_counted(test: Value) -> bool:
    """Whether a test compares a count of turns with a number of them: `seen += 1` before `if seen == size:`."""
    if test.made != "compare" or test.name not in ("Eq", "GtE") or len(test.args) != 2:
        return False
    count = test.args[0]
    return (
        count.made == "binary" and count.name == "+" and len(count.args) == 2 and count.args[1].constant == 1
        and count.args[0].made in ("unknown", "either") and bool(count.label)
    )  # fmt: skip


def without_gradients(event: Event) -> bool:
    """Whether an event happens under `no_grad` or `inference_mode`."""
    for block in event.path:
        if any(each.last in _NO_GRAD for each in block.contexts):
            return True
        if block.kind == "function" and block.value is not None and _is_marked(block.value):
            return True
    return False


_NO_GRAD: Final = frozenset({"no_grad", "inference_mode", "set_grad_enabled"})


def _is_marked(function: Value) -> bool:
    import ast

    marks = getattr(function.node, "decorator_list", ())
    return any(name in ast.dump(each) for each in marks for name in _NO_GRAD)


def forwards(events: list[Event]) -> Iterator[Event]:
    """Calls of a model."""
    for event in events:
        of = event.value.of
        if (
            event.kind == "call"
            and of is not None
            and event.name in ("__call__", of.name, "forward")
            and is_model(of)
        ):
            yield event
