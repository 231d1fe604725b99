"""Which options the installed x-transformers takes, read from its source without importing it, and which are refused.

Importing the package would load torch, which `trimtab check` does without.
"""

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from trimtab.config.complaint import Complaint
from trimtab.config.nearest import did_you_mean, nearest_words
from trimtab.config.run import Recipe
from trimtab.config.x_transformers_model import XTransformersModel

INSTALL = 'pip install "trimtab[x_transformers]"'
WRAPPER, LAYERS = "TransformerWrapper", "AttentionLayers"
PREFIXES = {"cross_attn_": "Attention", "attn_": "Attention", "ff_": "FeedForward"}
"""Prefixes of the options that each sub-layer takes, with its class."""

REFUSED: Mapping[str, Mapping[str, str]] = {
    "the recipe sets it": {
        "dim": "model.dim", "depth": "model.layers", "heads": "model.heads", "tie_embedding": "model.tie_embeddings",
        "num_tokens": "data.tokenizer.vocabulary_size", "max_seq_len": "data.max_tokens",
        "attn_dim": "model.dim", "attn_heads": "model.heads", "ff_dim": "model.dim",
        "cross_attn_dim": "model.dim", "cross_attn_heads": "model.heads",
    },
    "the task decides it": dict.fromkeys(
        ("causal", "cross_attend", "return_only_embed", "attn_layers", "attn_causal", "cross_attn_causal"), ""
    ),
    "trimtab computes the scores of the vocabulary itself": dict.fromkeys(
        (
            "logits_dim", "num_output_heads", "to_logits", "mixture_of_softmax", "mixture_of_softmax_k",
            "sigsoftmax_logits", "add_continuous_pred_head", "looped",
            "max_looped_steps", "attn_z_loss_weight",
        ),
        "",
    ),
    "it gives one vector for a text, and each token needs its own": dict.fromkeys(
        (
            "average_pool_embed", "use_cls_token", "num_cls_tokens", "attn_pool", "num_pooled_tokens",
            "attn_pool_depth", "dim_pooled_tokens", "squeeze_out_last_dim",
        ),
        "",
    ),
    "it needs an input that trimtab does not give": dict.fromkeys(
        (
            "dim_condition", "use_adaptive_layernorm", "use_adaptive_rmsnorm", "use_adaptive_layerscale",
            "adaptive_condition_mlp", "adaptive_condition_mlp_expansion", "embed_num_tokens", "max_mem_len",
            "shift_mem_down", "input_not_include_cache",
        ),
        "",
    ),
    "its value must be a Python object": dict.fromkeys(
        (
            "token_emb", "rel_pos_kwargs", "residual_fn_kwargs", "attn_aggregated_residual_kwargs",
            *(
                f"{prefix}{name}"
                for prefix in ("attn_", "cross_attn_")
                for name in (
                    "custom_attn_fn", "hybrid_module", "data_dependent_alibi_kwargs", "attend_sdp_kwargs",
                )
            ),
            "ff_custom_activation",
        ),
        "",
    ),
    "it draws random numbers that trimtab cannot seed, so a resumed run would differ": {
        "layer_dropout": "", "recycling": "", "train_max_recycle_steps": "",
    },
    "it prints to the log of the run": {"verbose": ""},
}  # fmt: skip
"""Options that x-transformers takes and trimtab does not pass on: the reason, and the key of the recipe to use instead,
empty where there is none."""


def package_file() -> Path | None:
    """The first file of the installed package; None where it is not installed."""
    spec = find_spec("x_transformers")
    return None if spec is None or spec.origin is None else Path(spec.origin)


@cache
def known_options() -> tuple[str, ...]:
    """The names of the options of the installed package; none where it is not installed, and for a version whose source
    has other classes."""
    first = package_file()
    source = None if first is None else first.with_name("x_transformers.py")
    if source is None or not source.is_file():
        return ()
    classes = {
        each.name: each
        for each in ast.parse(source.read_text(encoding="utf-8")).body
        if isinstance(each, ast.ClassDef)
    }
    if not {WRAPPER, LAYERS, *PREFIXES.values()} <= classes.keys():
        return ()
    arguments = {name: _arguments(classes[name]) for name in (WRAPPER, LAYERS, *PREFIXES.values())}
    own = [*arguments[WRAPPER], *arguments[LAYERS]]
    below = [prefix + each for prefix, name in PREFIXES.items() for each in arguments[name]]
    return tuple(dict.fromkeys([*own, *below]))


def _arguments(written: ast.ClassDef) -> list[str]:
    """The arguments of `__init__`, in their order."""
    for each in written.body:
        if isinstance(each, ast.FunctionDef) and each.name == "__init__":
            return [given.arg for given in (*each.args.args[1:], *each.args.kwonlyargs)]
    return []


def x_transformers_contradictions(recipe: Recipe) -> Iterator[Complaint]:
    """Options that do not exist or that trimtab cannot train with."""
    model = recipe.model
    if not isinstance(model, XTransformersModel):
        return
    if recipe.facts.attends_to_source and not model.has_encoder:
        yield Complaint(
            path="model.encoder_layers",
            what="a translator needs an encoder",
            got="none",
            allowed="a number of layers",
            fix=f"set `model.encoder_layers: {model.layers}`",
        )
    for key in ("encoder_layers", "encoder_options", "decoder_options"):
        if getattr(model, key) and not recipe.facts.attends_to_source:
            yield Complaint(
                path=f"model.{key}",
                what="a language model has one stack of layers",
                got=f"{key}, with task {recipe.task}",
                allowed="`layers` and `options`",
                fix="leave it out" if key == "encoder_layers" else "move them to `model.options`",
            )
    if (decay := recipe.step.optimizer.learning_rate_multipliers.layer_decay) != 1:
        yield Complaint(
            path="step.optimizer.learning_rate_multipliers.layer_decay",
            what="x-transformers numbers attention and feed-forward as layers of their own",
            got=f"{decay:g}",
            allowed="1",
            fix='remove it; `learning_rate_multipliers: {names: {"*.attn_layers.layers.0.*": 0.5}}` sets a factor by '
            "names",
        )
    for key in ("options", "encoder_options", "decoder_options"):
        given: Mapping[str, object] = getattr(model, key)
        for name in given:
            yield from _refused(f"model.{key}.{name}", name)


def _refused(path: str, name: str) -> Iterator[Complaint]:
    for reason, names in REFUSED.items():
        if name in names:
            fix = f"set `{names[name]}`, and leave it out here" if names[name] else "leave it out"
            yield Complaint(
                path=path, what=f"trimtab does not pass this option on: {reason}", got=name, fix=fix
            )
            return
    known = known_options()
    if known and name not in known:
        allowed = [each for each in known if not any(each in names for names in REFUSED.values())]
        guess = nearest_words(name, allowed)[:1]
        yield Complaint(
            path=path,
            what="x-transformers has no such option",
            got=name,
            allowed="arguments of TransformerWrapper and AttentionLayers, and with `attn_`, `cross_attn_` or `ff_` "
            "before them those of Attention and FeedForward",
            fix=did_you_mean(guess) or "leave it out",
        )
