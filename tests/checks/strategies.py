"""Random descriptions: any tool, keys that it knows and keys that nobody knows, any values, concepts of their types."""

from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from trimtab.checks import keys
from trimtab.checks.concepts import CONCEPTS
from trimtab.checks.description import Description
from trimtab.checks.document import UNKNOWN, Call, Document, Entry
from trimtab.checks.keys.table import load_table
from trimtab.checks.keytable import Key, KeyTable
from trimtab.checks.place import Place
from trimtab.checks.setting import Setting

TOOLS = (
    "transformers", "trl", "peft", "accelerate", "deepspeed", "axolotl", "llamafactory", "opennmt", "eole", "mammoth",
    "trimtab", "torch",
)  # fmt: skip
WORDS = (
    "adamw", "adam", "adafactor", "sgd", "lion", "galore", "lora", "qlora", "none", "no", "off", "steps", "epoch",
    "linear", "cosine", "constant", "noam", "rsqrt", "tokens", "examples", "sents", "bf16", "fp16", "post", "pre",
    "1e-4", "012", "1:30", "true", "false", "", "adamw_torch", "galore_adamw_layerwise", "rank=8,update_proj_gap=1",
    "=", ",,=", "cpu", "all-linear", "marian", "t5", "llama", "vision-encoder-decoder", "layer_norm",
)  # fmt: skip
"""Values that some rule looks for."""
CALLS = (
    "Adafactor", "AdamW", "Adam", "TrainingArguments", "Trainer", "from_pretrained", "CPUOffloadOptimizer",
    "clip_grad_norm_", "get_scheduler", "get_linear_schedule_with_warmup", "LoraConfig", "get_peft_model",
    "gradient_checkpointing_enable",
)  # fmt: skip
ARGUMENTS = (
    "lr", "relative_step", "scale_parameter", "clip_threshold", "num_training_steps", "offload_gradients", "eps",
    "betas", "accumulate_grad_batches", "dtype", "r", "lora_alpha", "target_modules", "weight_decay",
)  # fmt: skip
LARGEST = 10**200 - 1
"""The readers take no number with more digits."""

numbers = st.sampled_from([0, 1, -1, 2, 8, 10**6, LARGEST, -LARGEST]) | st.integers(-1000, 100_000)
reals = st.sampled_from([0.0, 1.0, 0.5, 1e-4, 2e-5, 1e-300, 1e300, float("inf"), float("nan")]) | st.floats()
texts = st.sampled_from(WORDS) | st.text(max_size=12)
scalars = st.none() | st.booleans() | numbers | reals | texts
values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=8,
)
places = st.builds(Place, st.just("args.yaml"), st.integers(1, 99), st.integers(1, 80))


@cache
def tables() -> tuple[KeyTable, ...]:
    """Every table that the project has."""
    return tuple(load_table(path.stem) for path in sorted(Path(keys.__path__[0]).glob("*.json")))


def of_type(kind: type) -> st.SearchStrategy[Any]:
    """Any value of exactly the type of a concept."""
    lists = st.lists(texts, max_size=4) | st.lists(numbers, max_size=3)
    return {bool: st.booleans(), int: numbers, float: reals, str: texts}.get(kind, lists)


@st.composite
def settings(draw: st.DrawFn, key: str, value: st.SearchStrategy[Any], *, written: bool = False) -> Setting:
    """One setting of a key, its raw characters and its own syntax's reading at odds with it now and then."""
    told = draw(value)
    return Setting(
        key=key,
        value=told,
        place=draw(places),
        value_place=draw(st.none() | places),
        raw=draw(st.just(str(told)[:40]) | texts),
        parsed=draw(st.just(told) | scalars),
        origin="file" if written else draw(st.sampled_from(["file", "default", "beside"])),
    )


@st.composite
def written_keys(draw: st.DrawFn, table: KeyTable | None) -> dict[str, Setting]:
    """Keys of the table, nested ones with names for their stars, and keys that it does not know."""
    known = st.sampled_from(sorted(table.keys)) if table is not None and table.keys else st.nothing()
    odd = st.sampled_from(
        [
            "learning_rate",
            "warmup_steps",
            "dropout",
            "datasets.0.type",
            "training.optim",
            "a..b",
            ".",
            "lora_rank",
        ]
    )
    names = draw(st.lists(known | odd | st.text(max_size=10), max_size=12, unique=True))
    found: dict[str, Setting] = {}
    for name in names:
        key = table.keys.get(name) if table is not None else None
        dotted = name.replace("*", draw(st.sampled_from(["0", "corpus_1"])))
        found[dotted] = draw(settings(dotted, choice_of(key) | values, written=True))
    return found


def choice_of(key: Key | None) -> st.SearchStrategy[Any]:
    """A value that the key allows, where it lists them."""
    return st.sampled_from(key.choices) if key is not None and key.choices else st.nothing()


@st.composite
def calls(draw: st.DrawFn) -> Call:
    """A call with some arguments that rules look at."""
    arguments = draw(st.dictionaries(st.sampled_from(ARGUMENTS), values | st.just(UNKNOWN), max_size=5))
    entries = {
        name: Entry(key=name, value=value, raw=str(value)[:40], place=draw(places), value_place=draw(places))
        for name, value in arguments.items()
    }
    return Call(
        name=draw(st.sampled_from(CALLS)),
        qualifier=draw(st.sampled_from(["", "torch.optim", "transformers", "AutoModelForCausalLM"])),
        arguments=entries,
        positional=tuple(draw(st.lists(scalars, max_size=2))),
        has_rest=draw(st.booleans()),
        place=draw(places),
    )


@st.composite
def documents(draw: st.DrawFn, keys_of_it: dict[str, Setting]) -> Document:
    """A document whose entries are the written keys."""
    entries = {
        name: Entry(key=name, value=each.value, raw=each.raw, place=each.place, value_place=each.place)
        for name, each in keys_of_it.items()
    }
    return Document(
        path="args.yaml",
        syntax=draw(st.sampled_from(["yaml", "json", "python", "shell"])),
        text=draw(st.sampled_from(["", "model = build()\n"])),
        tree=draw(values),
        entries=entries,
        calls=tuple(draw(st.lists(calls(), max_size=4))),
        imports=draw(
            st.frozensets(st.sampled_from(["torch", "transformers", "peft", "lightning", "torchao"]))
        ),
    )


@st.composite
def descriptions(draw: st.DrawFn, nearby: int = 1) -> Description:
    """Anything that a kind might tell, and more: combinations that no tool has."""
    table = draw(st.none() | st.sampled_from(tables()))
    tool = draw(st.sampled_from(TOOLS)) if table is None or draw(st.booleans()) else table.tool
    written = draw(written_keys(table))
    concepts = draw(st.lists(st.sampled_from(sorted(CONCEPTS)), max_size=25, unique=True))
    version = st.tuples(st.integers(0, 6), st.integers(0, 60), st.integers(0, 9))
    return Description(
        tool=tool,
        kind=tool,
        document=draw(documents(written)),
        keys=written,
        concepts={word: draw(settings(word, of_type(CONCEPTS[word].type))) for word in concepts},
        table=table,
        versions=draw(
            st.dictionaries(
                st.sampled_from(["transformers", "peft", "trl", "torch", "axolotl"]), version, max_size=3
            )
        ),
        nearby=tuple(draw(st.lists(descriptions(nearby - 1), max_size=1))) if nearby else (),
    )
