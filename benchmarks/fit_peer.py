"""FitCheck beside `trimtab fit` and what a GPU measured, on the recipes of `fit_planned.py` that FitCheck can say.

    pip install fitcheck-llm; python benchmarks/fit_peer.py benchmarks/fit_planned.json --out benchmarks/fit_peer.json

FitCheck plans decoders of Hugging Face with AdamW in rows of one length, so recipes with other models, optimizers or
released gradients are left out, and so are those with recomputed feed-forward sub-layers. It knows neither packs nor
compiled layers nor recorded steps: what is compared is the memory that it would tell a user of the same model, rank and
tokens. Its total is compared with the driver's figure for the process. The calibrating half set trimtab's constants, so
means are of the judging half; FitCheck has constants of a T4 and none of an H200.
"""

import argparse
import json
import statistics
import tempfile
from importlib.metadata import version
from pathlib import Path

from fit_recipes import RECIPES, RUNGS, prepared, recipe_file

from trimtab.config.load import load_recipe
from trimtab.fit.native import shape_of
from trimtab.fit.vocabulary import vocabulary_of

MIB = 2**20


def said(recipe, folder):
    """The driver's bytes by FitCheck; None for what it cannot say."""
    from fitcheck.config_parser import ModelConfig
    from fitcheck.estimator import TrainingConfig, estimate
    from fitcheck.gpu_db import GPU_DB

    step, model = recipe.step, recipe.model
    states = getattr(step.optimizer, "states", None)
    told = {"float32": ("adamw", "fp32"), "bfloat16": ("adamw", "bf16"), "8bit": ("adam8bit", "fp32")}
    if (
        recipe.task != "language_model"
        or step.optimizer.kind != "adamw"
        or states not in told
        or step.gradients != "kept"
        or step.offload != "none"
        or step.recompute == "feed_forward"
        or model.activation != "swiglu"
        or (recipe.adapter is not None and recipe.adapter.dora)
    ):
        return None
    shape = shape_of(model, vocabulary_of(recipe, folder), max_tokens=recipe.data.max_tokens)
    config = ModelConfig(
        name="recipe",
        num_params=shape.parameters,
        hidden_size=model.dim,
        num_layers=model.layers,
        num_attention_heads=model.heads,
        num_kv_heads=model.kv_heads or model.heads,
        intermediate_size=model.feed_forward,
        vocab_size=shape.rows,
        head_dim=model.size_of_heads,
        tie_word_embeddings=model.tie_embeddings,
    )
    adapter = recipe.adapter
    optimizer, of_states = told[states]
    training = TrainingConfig(
        precision="fp32" if step.precision == "fp32" else "bf16",
        quantization="nf4" if adapter is not None and adapter.quantize_base == "nf4" else "none",
        optimizer=optimizer,
        optimizer_dtype=of_states,
        batch_size=max(1, step.micro_batch_tokens // recipe.data.max_tokens),
        seq_len=recipe.data.max_tokens,
        lora_rank=None if adapter is None else adapter.rank,
        lora_targets=[] if adapter is None else list(adapter.names),
        grad_checkpoint=step.recompute == "block",
        flash_attn=step.precision != "fp32",
    )
    return int(estimate(config, training, GPU_DB["h200"]).total_mib * MIB)


def main():
    """Parses the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("measured", type=Path, help="what fit_planned.py wrote")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    measured, rows = json.loads(args.measured.read_text(encoding="utf-8")), {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        prepared(folder, small=False)
        for name in {**RECIPES, **RUNGS}:
            arm = measured["arms"].get(name, {})
            if not arm.get("driver_in_use"):
                continue
            loaded = load_recipe(recipe_file(name, folder, small=False))
            theirs = said(loaded.recipe, loaded.folder)
            if theirs is not None:
                rows[name] = {
                    "half": arm["half"],
                    "measured": arm["driver_in_use"],
                    "fitcheck": round(theirs / arm["driver_in_use"] - 1, 3),
                    "trimtab": round(arm["resolved"]["driver"] / arm["driver_in_use"] - 1, 3),
                }
                print(f"{name:<44}", rows[name])
    judging = [row for row in rows.values() if row["half"] == "judging"]
    means = {
        each: round(statistics.mean(abs(row[each]) for row in judging), 3) for each in ("fitcheck", "trimtab")
    }
    result = {"fitcheck-llm": version("fitcheck-llm"), "mean_difference_of_judging": means, "recipes": rows}
    print(means)
    if args.out:
        args.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
