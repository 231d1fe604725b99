"""The resolved values of a recipe, each with the place where it is written or as a default."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from trimtab.checks.kinds.concept_map import Concepts, put
from trimtab.checks.place import Place
from trimtab.checks.record import record
from trimtab.checks.setting import Setting
from trimtab.config.autoencoder_model import AutoencoderModel
from trimtab.config.detector_model import DetectorModel
from trimtab.config.layer_parts import SUM_WITHOUT_NORM
from trimtab.config.pretrained_model import PretrainedModel
from trimtab.config.run import Recipe
from trimtab.config.tokenizer import ByteLevel, SentencePieceTokenizer
from trimtab.config.transformers_model import TransformersModel
from trimtab.config.x_transformers_model import XTransformersModel
from trimtab.units import Duration

SCHEDULES = {"linear_warmup": "linear"}
AUTOCAST = {"bf16_mixed": "bf16", "fp16_mixed": "fp16", "bf16": "bf16", "fp32": "none", "tf32": "none"}
NORMS = {"layer": "layer_norm", "rms": "rms_norm"}
SHORTHANDS = {"model.encoder_layers": "model.layers", "model.decoder_layers": "model.layers"}


@record
class Branches:
    """A recipe and what is written of it."""

    recipe: Recipe
    settings: Mapping[str, Setting]
    path: str

    def at(self, path: str) -> Setting:
        """The resolved value of a dotted path."""
        value: Any = self.recipe
        for name in path.split("."):
            value = getattr(value, name)
        return self.where(path, value)

    def where(self, path: str, value: Any) -> Setting:
        """A value that follows from a key."""
        for key in (path, SHORTHANDS.get(path, path)):
            if key in self.settings:
                return replace(self.settings[key], value=value)
        return Setting(key=path, value=value, place=Place(self.path), origin="default")


def put_branches(concepts: Concepts, tree: Branches) -> None:
    """Tells the whole recipe."""
    _put_data(concepts, tree)
    _put_model(concepts, tree)
    _put_adapter(concepts, tree)
    _put_step(concepts, tree)
    _put_optimizer(concepts, tree)
    _put_schedule(concepts, tree)
    _put_rest(concepts, tree)


def _put_data(concepts: Concepts, tree: Branches) -> None:
    data = tree.recipe.data
    put(concepts, "task", tree.at("task"))
    files = [
        file for corpus in data.train for file in dict.fromkeys((corpus.pairs, corpus.source, corpus.target))
    ]
    put(concepts, "corpora", tree.where("data.train", [file for file in files if isinstance(file, str)]))
    put(concepts, "validation", tree.where("data.valid", bool(data.valid)))
    facts = tree.recipe.facts
    if not (facts.reads_images and facts.one_target):
        put(concepts, "sequence_length", tree.at("data.max_tokens"))
    if not facts.reads_images:
        if isinstance(data.tokenizer, SentencePieceTokenizer | ByteLevel):
            put(concepts, "vocab_size", tree.at("data.tokenizer.vocabulary_size"))
        put(concepts, "shared_vocabulary", tree.where("data.tokenizer", True))
    put(concepts, "dataloader_workers", tree.at("data.workers"))


def _put_module(concepts: Concepts, tree: Branches, model: TransformersModel) -> None:
    """What is known of a module of transformers: its own files say the rest."""
    put(concepts, "from_scratch", tree.where("model", False))
    put(concepts, "encoder_decoder", tree.where("model.kind", tree.recipe.facts.attends_to_source))
    put(concepts, "hidden_size", tree.at("model.dim"))
    put(concepts, "dropout", tree.at("model.dropout"))
    put(concepts, "tied_embeddings", tree.at("model.tie_embeddings"))


def _put_model(concepts: Concepts, tree: Branches) -> None:
    model = tree.recipe.model
    if isinstance(model, TransformersModel):
        _put_module(concepts, tree, model)
        return
    put(concepts, "from_scratch", tree.where("model", not tree.recipe.begins_trained))
    if isinstance(model, XTransformersModel):
        put(concepts, "encoder_decoder", tree.where("model.kind", model.has_encoder))
        for concept, key in (("hidden_size", "dim"), ("layers", "layers"), ("heads", "heads")):
            put(concepts, concept, tree.at(f"model.{key}"))
        put(concepts, "dropout", tree.at("model.dropout"))
        put(concepts, "tied_embeddings", tree.at("model.tie_embeddings"))
        return
    if isinstance(model, DetectorModel | AutoencoderModel):
        put(concepts, "dropout", tree.at("model.dropout"))
        return
    if isinstance(model, PretrainedModel):
        put(concepts, "model_name", tree.at("model.path"))
    put(concepts, "encoder_decoder", tree.where("model.kind", model.kind == "encoder_decoder"))
    for concept, key in (
        ("hidden_size", "dim"),
        ("layers", "decoder_layers" if model.kind == "encoder_decoder" else "layers"),
        ("heads", "heads"),
        ("feed_forward", "feed_forward"),
        ("positions", "positions"),
        ("dropout", "dropout"),
        ("attention_dropout", "attention_dropout"),
    ):
        put(concepts, concept, tree.at(f"model.{key}"))
    put(concepts, "norm", tree.where("model.norm", NORMS[model.norm]))
    put(
        concepts,
        "norm_placement",
        tree.where("model.norm_position", "pre" if model.norm_position in SUM_WITHOUT_NORM else "post"),
    )
    put(concepts, "tied_embeddings", tree.where("model.tie_embeddings", model.tie_embeddings is not False))


def _put_adapter(concepts: Concepts, tree: Branches) -> None:
    adapter = tree.recipe.adapter
    if adapter is None:
        if tree.recipe.begins_trained:
            put(concepts, "adapter", tree.where("adapter", "none"))
        return
    is_packed = adapter.quantize_base == "nf4"
    put(concepts, "adapter", tree.where("adapter.kind", "qlora" if is_packed else "lora"))
    put(concepts, "lora_rank", tree.at("adapter.rank"))
    put(concepts, "lora_alpha", tree.where("adapter.alpha", adapter.alpha_used))
    put(concepts, "lora_dropout", tree.at("adapter.dropout"))
    targets = ["all-linear"] if adapter.targets == "all_linear" else list(adapter.targets)
    put(concepts, "lora_targets", tree.where("adapter.targets", targets))
    put(concepts, "rslora", tree.at("adapter.rslora"))
    put(concepts, "dora", tree.at("adapter.dora"))
    put(concepts, "ensure_weight_tying", tree.where("adapter.embeddings", True))
    is_trained = adapter.embeddings == "train"
    put(concepts, "modules_to_save", tree.where("adapter.embeddings", ["embed_tokens"] if is_trained else []))
    put(concepts, "frozen_embeddings", tree.where("adapter.embeddings", not is_trained))
    if is_packed:
        put(concepts, "quantization_bits", tree.where("adapter.quantize_base", 4))


def _put_step(concepts: Concepts, tree: Branches) -> None:
    step = tree.recipe.step
    put(concepts, "global_batch", tree.at("step.tokens_per_step"))
    put(concepts, "micro_batch", tree.where("step.tokens_per_micro_batch", step.micro_batch_tokens))
    if not tree.recipe.facts.one_target:  # which counts examples: images or texts of any length
        put(concepts, "batch_unit", tree.where("step.tokens_per_step", "tokens"))
    put(concepts, "loss_normalization", tree.where("loss", "tokens"))
    put(concepts, "packing", tree.where("step", True))
    put(concepts, "packing_isolated", tree.where("step", True))
    put(concepts, "autocast", tree.where("step.precision", AUTOCAST.get(step.precision)))
    put(
        concepts,
        "weights_dtype",
        tree.where("step.precision", "bf16" if step.precision == "bf16" else "fp32"),
    )
    clips = {"global_norm": getattr(step.clip, "at", None), "off": 0.0}
    key = "step.clip.kind" if step.clip.kind == "off" else "step.clip.at"
    put(concepts, "clip", tree.where(key, clips.get(step.clip.kind)))
    put(concepts, "compile", tree.where("step.compile", {"on": True, "off": False}.get(step.compile)))


def _put_optimizer(concepts: Concepts, tree: Branches) -> None:
    optimizer = tree.recipe.step.optimizer
    put(concepts, "optimizer", tree.at("step.optimizer.kind"))
    for concept, key in (
        ("learning_rate", "learning_rate"),
        ("weight_decay", "weight_decay"),
        ("epsilon", "eps"),
        ("clip_threshold", "clip_update"),
    ):
        if hasattr(optimizer, key):
            put(concepts, concept, tree.at(f"step.optimizer.{key}"))
    betas = getattr(optimizer, "betas", ())
    for concept, beta in zip(("beta1", "beta2"), betas, strict=False):
        put(concepts, concept, tree.where("step.optimizer.betas", beta))
    if optimizer.kind == "adafactor":
        put(concepts, "relative_step", tree.where("step.optimizer.kind", False))


def _put_schedule(concepts: Concepts, tree: Branches) -> None:
    schedule = tree.recipe.step.schedule
    word = SCHEDULES.get(schedule.kind, schedule.kind)
    warmup: Duration | None = getattr(schedule, "warmup", None)
    if schedule.kind == "constant" and warmup is not None:
        word = "constant_with_warmup"
    put(concepts, "schedule", tree.where("step.schedule.kind", word))
    if warmup is None and schedule.kind == "constant":
        put(concepts, "warmup_steps", tree.where("step.schedule.warmup", 0))
    _put_length(concepts, tree, "step.schedule.warmup", warmup, {"steps": "warmup_steps"})


def _put_rest(concepts: Concepts, tree: Branches) -> None:
    recipe = tree.recipe
    put(concepts, "label_smoothing", tree.at("loss.label_smoothing"))
    put(concepts, "neftune_alpha", tree.at("step.neftune_alpha"))
    _put_length(concepts, tree, "length", recipe.length, {"steps": "steps", "epochs": "epochs"})
    put(concepts, "beam", tree.at("evaluate.beam"))
    for branch, every in (("evaluate", recipe.evaluate.every), ("checkpoint", recipe.checkpoint.every)):
        short = {"evaluate": "eval", "checkpoint": "save"}[branch]
        words = {"steps": "steps", "epochs": "epoch"}
        put(concepts, f"{short}_strategy", tree.where(f"{branch}.every", words.get(every.unit)))
        _put_length(concepts, tree, f"{branch}.every", every, {"steps": f"{short}_steps"})
    put(concepts, "keep_checkpoints", tree.at("checkpoint.keep"))
    put(concepts, "seed", tree.at("seed"))


def _put_length(
    concepts: Concepts, tree: Branches, path: str, length: Duration | None, names: Mapping[str, str]
) -> None:
    if length is not None and length.unit in names:
        put(concepts, names[length.unit], tree.where(path, length.count))
