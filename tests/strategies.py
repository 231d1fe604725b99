"""Hypothesis strategies of things that several test files need."""

from typing import Any

from hypothesis import strategies as st

from trimtab.config.corpora import is_tag

TRICKY = [
    "no",
    "null",
    "~",
    "1e-4",
    "0x1F",
    "2001-01-01",
    " a ",
    "a: b",
    "- a",
    "#",
    "*x",
    "&x",
    "!t",
    "'",
    '"',
    "\\",
    "\t",
    "\n",
    "\x00",
    "\u2028",
    "\ufeff",
    "é",
    "😀",
    "<<",
    "@",
    "%",
    "{",
    "[",
    "a #b",
    "1_000",
    "=",
    "...",
    "---",
]
"""Texts that YAML reads as something else when they are not quoted."""


Tree = dict[str, Any]


def recipe_trees() -> st.SearchStrategy[Tree]:
    """Plain values over every field of a recipe; some contradict one another (a warmup longer than the run)."""
    metrics = st.lists(st.sampled_from(["loss", "bleu", "chrf"]), max_size=3, unique=True)
    return st.fixed_dictionaries(
        {
            "data": data(),
            "model": models(),
            "loss": losses(),
            "step": steps(),
            "length": durations(),
            "evaluate": st.fixed_dictionaries(
                {
                    "every": durations(),
                    "metrics": metrics,
                    "beam": st.integers(1, 64),
                    "lines": st.none() | st.integers(1, 9999),
                    "samples": st.integers(0, 100),
                    "best": st.fixed_dictionaries({"metric": st.just("loss")}),
                    "patience": st.integers(1, 99),
                    "stop_on": st.none() | st.sampled_from(("any", "all")).map(lambda how: {how: ["loss"]}),
                }
            ),
            "checkpoint": st.fixed_dictionaries({"every": durations(), "keep": st.integers(1, 99)}),
            "seed": st.integers(0, 2**63 - 1),
        }
    )


def losses() -> st.SearchStrategy[Tree]:
    """Cross-entropy with and without what can be added."""
    truncate = st.fixed_dictionaries({"error_norm": st.floats(0.01, 1.4), "after": durations()})
    return st.fixed_dictionaries(
        {"label_smoothing": st.floats(0, 0.99), "z_loss": st.floats(0, 1), "truncate": st.none() | truncate}
    )


def durations() -> st.SearchStrategy[str]:
    """Lengths in every unit."""
    whole = st.tuples(st.integers(1, 10**12), st.sampled_from(["steps", "tokens"]))
    broken = st.tuples(
        st.integers(1, 10**9).map(lambda count: count / 1000), st.sampled_from(["epochs", "minutes"])
    )
    return (whole | broken).map(lambda pair: f"{pair[0]} {pair[1]}")


def words() -> st.SearchStrategy[str]:
    """Any text at all, and more often the awkward kinds."""
    return st.text(min_size=1, max_size=12) | st.sampled_from(TRICKY)


def tags() -> st.SearchStrategy[list[str]]:
    """Words without spaces."""
    return st.lists(words().filter(is_tag), max_size=2)


def parallel_files(**more: st.SearchStrategy[Any]) -> st.SearchStrategy[Tree]:
    """Two files, or one file with columns."""
    column = st.integers(1, 9) | words()
    rest = {"name": words() | st.just(""), "tags": tags(), **more}
    return st.fixed_dictionaries({"source": words(), "target": words(), **rest}) | st.fixed_dictionaries(
        {"pairs": words(), "source": column, "target": column, **rest}
    )


def data() -> st.SearchStrategy[Tree]:
    """Data of every format, with and without validation sets."""
    transforms = st.one_of(
        _kind("normalize", form=st.sampled_from(["nfc", "nfkc", "none"])),
        _kind(
            "length",
            unit=st.sampled_from(["words", "characters"]),
            min=st.integers(0, 9),
            max=st.integers(9, 99),
        ),
        _kind("ratio", max=st.floats(1.01, 1e9), min_characters=st.integers(0, 99)),
        _kind("character_run", max=st.integers(1, 99)),
        _kind("duplicate", by=st.sampled_from(["pair", "source", "target"]), exact=st.booleans()),
        _kind("copy", similarity=st.floats(0.01, 1), min_characters=st.integers(0, 99)),
        _kind("language", source=st.sampled_from(["en", "pt-BR"]), certainty=st.floats(0.5, 0.99)),
        _kind("letters", min=st.floats(0, 1)),
        _kind("word_length", max=st.integers(1, 99)),
        _kind(
            "denoise", only=st.lists(words(), max_size=2), infill=st.floats(0.1, 1), shuffle=st.integers(0, 9)
        ),
    )
    tokenizer = _kind(
        "sentencepiece",
        model=st.sampled_from(["unigram", "bpe"]),
        vocabulary_size=st.integers(300, 99999),
        character_coverage=st.floats(0.91, 1.0),
        byte_fallback=st.booleans(),
        path=st.none() | words(),
        sampling=st.none()
        | _kind("subword_regularization", alpha=st.floats(0.01, 9), nbest=st.just("all") | st.integers(2, 99))
        | _kind("bpe_dropout", dropout=st.floats(0, 1), sides=st.sampled_from(["source", "target", "both"])),
    )
    return st.fixed_dictionaries(
        {
            "root": st.none() | words(),
            "train": st.lists(
                parallel_files(weight=st.floats(1e-6, 1000)) | st.fixed_dictionaries({"text": words()}),
                min_size=1,
                max_size=3,
            ),
            "valid": st.dictionaries(words(), parallel_files(), max_size=3),
            "tokenizer": tokenizer,
            "transforms": st.lists(transforms, max_size=3),
            "temperature": st.floats(1, 1000),
            "stages": st.lists(stages(), max_size=2),
            "max_tokens": st.integers(2, 512),
            "workers": st.integers(0, 256) | st.just("auto"),
        }
    )


def stages() -> st.SearchStrategy[Tree]:
    """Weights by any name, for so many steps or to the end."""
    return st.fixed_dictionaries(
        {
            "until": st.none() | st.integers(1, 10**6).map(lambda count: f"{count} steps"),
            "weights": st.dictionaries(words(), st.floats(0, 1000), min_size=1, max_size=2),
        }
    )


def models() -> st.SearchStrategy[Tree]:
    """Presets with changes, and models spelled out."""
    parts = {
        "dropout": st.floats(0, 0.99),
        "positions": st.sampled_from(["sinusoidal", "learned", "rotary"]),
        "decoder_positions": st.sampled_from([None, "none", "sinusoidal", "learned", "rotary"]),
        "kv_heads": st.sampled_from([None, 1]),
        "decoder_kv_heads": st.sampled_from([None, 1]),
        "encoder_feed_forward": st.none() | st.integers(8, 999),
        "norm": st.sampled_from(["layer", "rms"]),
        "norm_position": st.sampled_from(["before", "after"]),
        "activation": st.sampled_from(["relu", "gelu", "silu", "swish", "swiglu", "geglu"]),
        "bias": st.booleans(),
        "tie_embeddings": st.sampled_from(["all", "decoder", "none"]),
    }
    sizes = {
        "dim": st.just(64),
        "heads": st.sampled_from([1, 2, 4]),
        "layers": st.integers(1, 9),
        "feed_forward": st.integers(8, 999),
    }
    preset = {"preset": st.sampled_from(["tiny", "small", "base", "big"])}
    return st.fixed_dictionaries(preset | parts) | st.fixed_dictionaries(sizes | parts)


def steps() -> st.SearchStrategy[Tree]:
    """Every optimizer, schedule and way to clip."""
    rates, beta = st.floats(1e-12, 10), st.floats(0, 0.9999)
    optimizer = _kind(
        "adamw", learning_rate=rates, betas=st.lists(beta, min_size=2, max_size=2), eps=st.floats(1e-30, 1)
    ) | _kind("adafactor", learning_rate=rates, clip_update=st.floats(0.01, 1e9))
    schedule = st.one_of(
        _kind("constant", warmup=st.none() | durations()),
        _kind("linear_warmup", warmup=durations()),
        _kind("inverse_sqrt", warmup=durations()),
        _kind("cosine", warmup=durations(), floor=st.floats(0, 0.99)),
    )
    return st.fixed_dictionaries(
        {
            "tokens_per_step": st.integers(512, 10**6),
            "tokens_per_micro_batch": st.none() | st.integers(512, 10**6),
            "source_tokens_per_micro_batch": st.none() | st.integers(512, 10**6),
            "batch_warmup": st.none() | growth(),
            "precision": st.sampled_from(["auto", "fp32", "bf16_mixed", "fp16_mixed"]),
            "optimizer": optimizer,
            "schedule": schedule,
            "clip": _kind("off") | _kind("global_norm", at=st.floats(1e-9, 1e9)),
            "deterministic": st.booleans(),
            "compile": st.sampled_from(["auto", "on", "off"]),
        }
    )


def growth() -> st.SearchStrategy[Tree]:
    """Steps that begin small."""
    return st.fixed_dictionaries(
        {
            "start": st.integers(1, 511),
            "over": st.integers(1, 10**6).map(lambda count: f"{count} steps"),
            "shape": st.sampled_from(["linear", "doubling"]),
        }
    )


def _kind(kind: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Tree]:
    return st.fixed_dictionaries({"kind": st.just(kind), **fields})
