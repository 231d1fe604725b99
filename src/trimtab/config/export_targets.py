"""What models may be exported for, and which keys of a recipe each of these cannot express.

A target is a name in `ExportTarget`, its facts in `facts_of`, and the folder of that name in `trimtab.export`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, assert_never, get_args, runtime_checkable

from trimtab.config.positions import KINDS, NoPositions, Rotary
from trimtab.errors import Problem

ExportTarget = Literal["hf", "ctranslate2", "onnx", "torch_export", "peft"]

MODULE = "transformers"
"""The kind of a pretrained model that is a module of transformers."""
X_TRANSFORMERS = "x_transformers"
"""The kind of a model that the package of that name computes."""
LANGUAGE_MODELS = ("decoder", "pretrained")
"""Kinds of model that continue a text."""

PLAIN_ACTIVATIONS = ("relu", "gelu", "silu", "swish")
GATED_ACTIVATIONS = ("swiglu", "geglu")
CHANGES_TEXT = {"context": "puts other sentences before each line"}
"""Transforms that no export has, and what they do to a translation."""
AROUND_THE_MODEL = {
    "normalize": "normalizes each line",
    "protect": "puts symbols for URLs, numbers and the like into each line and the text back into its translation",
}
"""Transforms that trimtab applies to the lines of an export, from the recipe in its folder; a library does not."""


@runtime_checkable
class Kind(Protocol):
    """A part of a recipe; its class is not named here, so that the command line knows the targets without pydantic."""

    @property
    def kind(self) -> str:
        """Which of its union it is."""
        ...


def _nothing(model: Any) -> Iterator[Problem]:
    """Every model of the kind can be exported."""
    yield from ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetFacts:
    """What is known of a target without its library."""

    label: str
    """What the help of the command calls it."""
    weights: tuple[str, ...] = ("float32",)
    """Kinds of weights that `--quantization` may ask for; float32 is exact."""
    translators: Callable[[Any], Iterator[Problem]] | None = _nothing
    """What prevents the export of an encoder-decoder; None if the target takes no encoder-decoder."""
    language_models: Callable[[Any], Iterator[Problem]] | None = None
    """What prevents the export of a decoder; None if the target takes no decoder."""
    int8_without_vnni: str | None = None
    """What to do where 8-bit products lose more on a processor that has no instruction for their sums; None if the
    target does not depend on it."""
    modules: bool = False
    """Whether it takes pretrained translators that transformers computes."""

    def takes(self, kind: str) -> bool:
        """Whether any model of a kind can be exported."""
        if kind == MODULE:
            return self.modules
        kinds = dict.fromkeys(LANGUAGE_MODELS, self.language_models) | {"encoder_decoder": self.translators}
        return kinds.get(kind) is not None


def facts_of(target: ExportTarget) -> TargetFacts:
    """The facts of a target."""
    match target:
        case "hf":
            return TargetFacts(
                label="Hugging Face's transformers",
                translators=_seq2seq_obstacles,
                language_models=llama_obstacles,
                modules=True,
            )
        case "ctranslate2":
            # It has every norm, activation and tie that a recipe can ask for. (int16 is left out:
            # few CPUs have it, and it is as large as float16. int8 is int8_float32.)
            half = ("float16", "bfloat16")
            int8 = ("int8_float16", "int8_bfloat16", "int8_float32", "int8")
            return TargetFacts(
                label="CTranslate2",
                weights=("float32", *half, *int8),
                translators=_graph_obstacles(target),
                int8_without_vnni="set CT2_USE_MKL=1, with which sums are exact as on a processor that has it",
            )
        case "onnx":
            # The last is int8 for processors without VNNI.
            return TargetFacts(
                label="ONNX Runtime",
                weights=("float32", "float16", "int8", "int8_reduced"),
                translators=_graph_obstacles(target),
            )
        case "torch_export":
            return TargetFacts(
                label="a program of PyTorch",
                translators=None,
                language_models=_program_obstacles,
            )
        case "peft":
            return TargetFacts(
                label="PEFT, the adapter alone",
                translators=None,
                language_models=llama_obstacles,
                modules=True,
            )
        case _:
            assert_never(target)


def target_help() -> str:
    """The targets and what they are, for the help of the command."""
    return "; ".join(f"{name}: {facts_of(name).label}" for name in get_args(ExportTarget)) + "."


def obstacles(
    target: ExportTarget, *, model: Any, transforms: Sequence[Kind], factors: Sequence[Kind] = ()
) -> list[Problem]:
    """A problem for each key that prevents an export, with the values that could be exported.

    What only the vocabularies of a run can tell is not among them.
    """
    facts = facts_of(target)
    if model.kind == MODULE:
        return [*_of_transforms(transforms)] if facts.modules else [_module(target)]
    if model.kind == X_TRANSFORMERS:
        return [no_export_of_options(target)]
    if model.kind == "encoder_decoder" and facts.translators is not None:
        return [*facts.translators(model), *_of_transforms(transforms), *_of_factors(factors, target)]
    if model.kind in LANGUAGE_MODELS and facts.language_models is not None:
        return list(facts.language_models(model))
    return [_another_kind(str(model.kind), target)]


def llama_obstacles(model: Any) -> Iterator[Problem]:
    """Which language models neither Llama's arithmetic nor that of Qwen3 computes exactly: a problem for each key, with
    the values that could be exported.

    LlamaForCausalLM has rotary positions, RMSNorm before each sub-layer and after the last, a gated feed-forward
    block, shared heads of keys and values, and biases in all linear maps or in none. Qwen3ForCausalLM adds what
    `qk_norm` is, one RMSNorm for all heads of queries and one for those of keys, and has no biases in its feed-forward
    blocks. (OLMo 2 norms the queries of all heads as one vector, and after the sub-layers.)
    """
    wanted = {"positions": Rotary.kind, "norm": "rms", "norm_position": "before", "prefix": "causal"}
    for key, value in wanted.items():
        if (got := getattr(model, key)) != value:
            yield _no_llama(key, got, value)
    if model.rezero:
        yield _no_llama("rezero", "true", "false")
    if model.experts is not None:
        yield _no_llama("experts", str(model.experts.count), "nothing", fix="null")
    if model.mixture_of_depths is not None:
        yield _no_llama(
            "mixture_of_depths", f"capacity: {model.mixture_of_depths.capacity:g}", "nothing", fix="null"
        )
    if model.activation not in GATED_ACTIVATIONS:
        yield _no_llama(
            "activation", model.activation, " or ".join(GATED_ACTIVATIONS), fix=GATED_ACTIVATIONS[0]
        )
    if model.bias == "qkv" and model.activation != "swiglu":
        yield _no_llama("activation", model.activation, "swiglu, with bias: qkv", fix="swiglu")
    if model.qk_norm and model.bias:
        yield _no_llama(
            "bias", f"{str(model.bias).lower()}, with qk_norm: true", "false, or qk_norm: false", fix="false"
        )


def _program_obstacles(model: Any) -> Iterator[Problem]:
    """A program reads rows from left to right and is not told where a prefix ends, and has neither grouped
    products nor routers."""
    if model.experts is not None:
        yield _refused("model.experts", f"count: {model.experts.count}", ("null",), "torch_export")
    if model.mixture_of_depths is not None:
        capacity = f"capacity: {model.mixture_of_depths.capacity:g}"
        yield _refused("model.mixture_of_depths", capacity, ("null",), "torch_export")
    if model.prefix != "causal":
        yield Problem(
            what="model.prefix: a torch.export program cannot see where a prefix ends",
            got=model.prefix,
            allowed="causal",
            fix="set `model.prefix: causal` to export for torch_export",
        )


def _seq2seq_obstacles(model: Any) -> Iterator[Problem]:
    """Pegasus and MarianMT: see `export/hf/marian.py`."""
    before = model.norm_position == "before"
    yield from _layer_obstacles(model, "hf")
    if model.norm != "layer":
        yield _refused("model.norm", model.norm, ("layer",), "hf")
    if model.activation in GATED_ACTIVATIONS:
        yield _refused("model.activation", model.activation, PLAIN_ACTIVATIONS, "hf")
    added = (each for each in KINDS if each.adds_vectors and each.in_graphs)
    tables = tuple(each.kind for each in added if before or not each.is_trained)
    hint = "" if before else ", with norm_position: after"
    own = model.decoder_positions
    if before and model.tie_embeddings != "all":
        # `all` is no way out where each side has a vocabulary of its own.
        wanted = {"norm_position": "after"}
        sine = tables[0]
        wanted |= {"positions": sine} if model.positions != sine else {}
        wanted |= {"decoder_positions": sine} if own not in (None, sine) else {}
        fix = " and ".join(f"`model.{key}: {value}`" for key, value in wanted.items())
        yield Problem(
            what="model.tie_embeddings: no class of transformers computes this exactly with the norm before",
            got=model.tie_embeddings,
            allowed="all, with one vocabulary for both sides; any, with norm_position: after",
            fix=f"set {fix} to export for hf",
        )
    if model.positions not in tables:
        yield _refused("model.positions", model.positions, tables, "hf", hint=hint)
    allowed = (*tables, NoPositions.kind) if before else tables
    if own is not None and own not in allowed:
        yield _refused("model.decoder_positions", str(own), allowed, "hf", hint=hint)


def _layer_obstacles(model: Any, target: ExportTarget) -> Iterator[Problem]:
    """Parts of a layer that neither transformers' translators nor the exported graphs have."""
    if model.norm_position not in ("before", "after"):
        yield _refused("model.norm_position", model.norm_position, ("before", "after"), target)
    if model.rezero:
        yield _refused("model.rezero", "true", ("false",), target)
    if model.experts is not None:
        yield _refused("model.experts", f"count: {model.experts.count}", ("null",), target)
    if model.registers:
        yield _refused("model.registers", str(model.registers), ("0",), target)
    if model.encoder_mix != "last":
        yield _refused("model.encoder_mix", model.encoder_mix, ("last",), target)
    if model.qk_norm:
        yield _refused("model.qk_norm", "true", ("false",), target)
    if model.activation not in (*PLAIN_ACTIVATIONS, *GATED_ACTIVATIONS):
        allowed = PLAIN_ACTIVATIONS if target == "hf" else (*PLAIN_ACTIVATIONS, *GATED_ACTIVATIONS)
        yield _refused("model.activation", model.activation, allowed, target)


def _graph_obstacles(target: ExportTarget) -> Callable[[Any], Iterator[Problem]]:
    """What the exported graphs have no place for: positions that add something to the scores of attention or rotate
    values, two kinds of positions together, other norms than one for each sub-layer, and leaky ReLU."""

    def found(model: Any) -> Iterator[Problem]:
        yield from _layer_obstacles(model, target)
        without = tuple(each.kind for each in KINDS if each.in_graphs)
        for key, settings in zip(
            ("positions", "decoder_positions"), model.all_position_settings, strict=True
        ):
            if not settings.in_graphs:
                yield _refused(f"model.{key}", settings.kind, without, target)

    return found


def _of_transforms(transforms: Sequence[Kind]) -> Iterator[Problem]:
    for number, transform in enumerate(transforms):
        if transform.kind in CHANGES_TEXT:
            yield Problem(
                what=f"data.transforms.{number}: {CHANGES_TEXT[transform.kind]}, which an export cannot",
                got=f"kind: {transform.kind}",
                allowed="normalize, protect, and what only training has: filters such as length, and denoise",
                fix="train without it",
            )


def _of_factors(factors: Sequence[Kind], target: ExportTarget) -> Iterator[Problem]:
    if factors:
        yield Problem(
            what=f"data.source_factors: an export for {target} reads pieces alone, without source factors",
            got=", ".join(f"kind: {each.kind}" for each in factors),
            allowed="no source factors; the run itself translates and serves with them",
            fix=f"leave `data.source_factors` out to export for {target}",
        )


def _module(target: ExportTarget) -> Problem:
    takers = [each for each in get_args(ExportTarget) if facts_of(each).modules]
    return Problem(
        what=f"model.kind: trimtab exports a module of transformers to its own form alone, not to {target}",
        got=MODULE,
        allowed=" or ".join(takers),
        fix=f"`--to {takers[0]}`; the tools of {target} convert that folder, where they know the family",
    )


def no_export_of_options(target: str) -> Problem:
    """The error for a model of x-transformers, whose options no other library computes."""
    return Problem(
        what="model.kind: no export target supports models of x-transformers",
        got=f"{X_TRANSFORMERS}, to {target}",
        allowed="decoder or encoder_decoder",
        fix="leave the export out and use the run with trimtab, or train a model of trimtab with the same parts",
    )


def _another_kind(kind: str, target: ExportTarget) -> Problem:
    """The error for a kind of model that the target does not take at all, and the targets that do."""
    is_decoder = kind in LANGUAGE_MODELS
    takers = [
        each
        for each in get_args(ExportTarget)
        if (facts_of(each).language_models if is_decoder else facts_of(each).translators)
    ]
    own, other = (
        ("a language model", "an encoder-decoder")
        if is_decoder
        else ("an encoder-decoder", "a language model")
    )
    named = " or ".join(takers)
    return Problem(
        what=f"model.kind: an export for {target} is of {other}, not of {own}",
        got=kind,
        allowed=f"{'encoder_decoder' if is_decoder else 'decoder'}; of {own}, an export for {named}",
        fix=f"export it for {named} instead of {target}: `--to {takers[0]}`, or `export: [{takers[0]}]` in the recipe",
    )


def _no_llama(key: str, got: str, allowed: str, fix: str = "") -> Problem:
    return Problem(
        what=f"model.{key}: neither LlamaForCausalLM nor Qwen3ForCausalLM computes this exactly",
        got=got,
        allowed=allowed,
        fix=f"set `model.{key}: {fix or allowed}` to export for hf",
    )


def _refused(key: str, got: str, allowed: Sequence[str], target: ExportTarget, *, hint: str = "") -> Problem:
    """The error for a value that the target cannot express; the fix is the first that it can."""
    whose = "no class of transformers" if target == "hf" else f"no export for {target}"
    return Problem(
        what=f"{key}: {whose} computes this exactly",
        got=got,
        allowed=" or ".join(allowed) + hint,
        fix=f"set `{key}: {allowed[0]}` to export for {target}",
    )
