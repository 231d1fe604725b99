"""muP: the recipe's multipliers, and what they do to models of growing width (the coordinate check)."""

import math

import pytest
import torch

from tests.modular_run import MODEL, modular_recipe
from tests.streams import START, pack_of, stream_of
from trimtab.config.adapter import LoraAdapter
from trimtab.config.load import load_recipe, parse_recipe
from trimtab.config.mup import LAST_NORM, with_mup
from trimtab.config.optimizers import AdamW
from trimtab.config.render import render_recipe
from trimtab.errors import InputError
from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.step.multipliers import multipliers_of
from trimtab.step.optimizer.build import build_optimizer

BASE, WIDTHS = 32, (32, 64, 128)
PAIR = """\
data: {train: [{source: a, target: b}]}
model: {kind: encoder_decoder, layers: 2, positions: learned, dropout: 0.0}
length: 400 steps
"""
TEXT = """\
task: language_model
data: {train: [{text: a}]}
model: {kind: decoder, layers: 2, positions: learned, norm: layer, bias: true}
length: 400 steps
"""
KINDS = {"encoder-decoder": PAIR, "decoder": TEXT}
NOT_TIED = {PAIR: "none", TEXT: False}


def recipe_of(text, *, dim=64, base=BASE, **changes):
    sizes = {"model.dim": dim, "model.heads": dim // 16, "model.feed_forward": 2 * dim, **changes}
    if base is not None:
        sizes["model.mup_base_dim"] = base
    return parse_recipe(text, overrides=[f"{key}={value}" for key, value in sizes.items()]).recipe


def model_of(recipe, *, seed=1):
    kind = EncoderDecoder if recipe.model.has_encoder else DecoderOnly
    return kind(recipe.model, num_ids=64, max_positions=16, seed=seed)


def rates(recipe):
    model = model_of(recipe)
    config = recipe.step.optimizer.learning_rate_multipliers
    return multipliers_of(config, [name for name, _ in model.named_parameters()], role_of=model.role_of)


@pytest.mark.parametrize("text", KINDS.values(), ids=KINDS)
def test_a_model_as_wide_as_its_base_is_the_plain_one(text):
    plain, same = recipe_of(text, base=None), recipe_of(text, base=64)
    assert set(rates(same).values()) == {1.0}
    for one, other in zip(model_of(plain).parameters(), model_of(same).parameters(), strict=True):
        assert torch.equal(one, other)


def test_rates_are_those_of_the_table_for_each_kind_of_weight():
    found = rates(recipe_of(TEXT, dim=128))
    assert found["embedding.weight"] == found["target_positions.weight"] == 1
    assert found["decoder.blocks.0.attention.qkv.weight"] == found["decoder.norm.bias"] == 0.25
    assert (
        found["decoder.blocks.1.norm_attention.weight"] == found["decoder.blocks.1.feed_forward.up.bias"] == 1
    )
    found = rates(recipe_of(PAIR, dim=128, **{"model.tie_embeddings": "none", "model.positions": "t5"}))
    assert found["embedding.weight"] == found["output.weight"] == found["decoder.norm.weight"] == 0.5
    assert found["source_positions.weight"] == found["encoder.norm.weight"] == 1
    assert found["encoder.blocks.0.feed_forward.down.weight"] == 0.25


@pytest.mark.parametrize("text", KINDS.values(), ids=KINDS)
def test_what_the_recipe_writes_stays_and_the_kept_recipe_reads_back_as_the_same(text):
    own = {"step.optimizer.learning_rate_multipliers": "{hidden: 0.3, names: {'decoder.norm.*': 0.7}}"}
    recipe = recipe_of(text, **own)
    found = rates(recipe)
    assert found["decoder.blocks.0.attention.out.weight"] == 0.3
    assert found["decoder.norm.weight"] == 0.7
    for each in (recipe, recipe_of(text)):
        assert parse_recipe(render_recipe(each)).recipe == each


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model.norm_position": "after"}, "norm_position"),
        ({"step.optimizer": "{kind: sgd, learning_rate: 0.1}"}, "updates of Adam's size"),
        ({"step.optimizer": "{kind: muon}"}, "updates of Adam's size"),
        ({"step.schedule": "{kind: noam, warmup: 100 steps}"}, "noam divides"),
        ({"base": 4}, "mup_base_dim"),
    ],
)
def test_what_cannot_be_beside_it_is_refused(change, said):
    with pytest.raises(InputError, match=said):
        recipe_of(PAIR, **change)


def test_modular_models_are_refused_and_adapters_and_frozen_norms_keep_their_rates(tmp_path):
    recipe = load_recipe(modular_recipe(tmp_path))
    assert recipe.recipe.model.kind == "modular"
    with pytest.raises(InputError, match="many components"):
        load_recipe(modular_recipe(tmp_path, model={**MODEL, "mup_base_dim": 16}))
    plain = recipe_of(PAIR)
    frozen = plain.model_copy(update={"freeze": ("decoder.*",)})
    assert LAST_NORM in with_mup(plain).step.optimizer.learning_rate_multipliers.names
    unset = plain.step.model_copy(update={"optimizer": AdamW(learning_rate=1e-3)})
    assert (
        LAST_NORM
        not in with_mup(
            frozen.model_copy(update={"step": unset})
        ).step.optimizer.learning_rate_multipliers.names
    )
    adapted = plain.model_copy(update={"adapter": LoraAdapter(), "step": unset})
    assert with_mup(adapted) == adapted


def inputs(*, encoder_decoder, seed=3):
    draw = torch.Generator().manual_seed(seed)
    rows = torch.randint(4, 60, (8, 12), generator=draw).tolist()
    if encoder_decoder:
        return pack_of(rows, rows[::-1])
    return stream_of([[START, *row[:-1]] for row in rows]), torch.tensor(rows).flatten()


def read(model, batch):
    """Logits and labels."""
    if isinstance(model, DecoderOnly):
        stream, labels = batch
        return model.decode(stream) @ model.output_matrix.T, labels
    return model(batch) @ model.output_matrix.T, batch.labels


def growth(text, *, mup, steps=4):
    """For the output of each layer and the logits, the slope of the log of how much training moves them over the log
    of the width: the coordinate check of arXiv 2203.03466, section D.1."""
    moved = {}
    for dim in WIDTHS:
        recipe = recipe_of(text, dim=dim, base=BASE if mup else None)
        model = model_of(recipe)
        batch = inputs(encoder_decoder=recipe.model.has_encoder)
        optimizer = build_optimizer(recipe.step.optimizer, model, role_of=model.role_of)
        before, seen = {}, {}
        for name, module in model.named_modules():
            if name.count(".") == 2 and ".blocks." in name:
                module.register_forward_hook(
                    lambda _, __, out, name=name, seen=seen: seen.update({name: out.detach()})
                )
        for step in range(steps + 1):
            logits, labels = read(model, batch)
            seen["logits"] = logits.detach()[:, :64]
            if step in (0, steps):
                before = before or dict(seen)
            if step < steps:
                torch.nn.functional.cross_entropy(logits[:, :64], labels).backward()
                optimizer.update(learning_rate=0.01, skip=torch.tensor(False))
                model.zero_grad()
        for name, value in seen.items():
            moved.setdefault(name, []).append(float((value - before[name]).square().mean().sqrt()))
    x = torch.tensor([math.log2(each) for each in WIDTHS])
    x = x - x.mean()
    return {
        name: float((x * torch.tensor(each).log2()).sum() / (x * x).sum()) for name, each in moved.items()
    }


@pytest.mark.quick("decoder")
@pytest.mark.parametrize("text", KINDS.values(), ids=KINDS)
def test_training_moves_every_layer_as_much_at_any_width_and_without_mup_more_at_a_larger_one(text):
    found, plain = growth(text, mup=True), growth(text, mup=False)
    # Logits begin at 1 / sqrt(width), which training takes away, so that they move a little less at a larger one.
    assert all(-0.4 < slope < 0.2 for slope in found.values()), found
    assert all(slope > 0.4 for name, slope in plain.items() if name != "logits"), plain


@pytest.mark.slow
def test_adam_computes_what_the_authors_parametrization_does():
    """Their package's rates, and a readout that divides by the width: the same function after each step."""
    mup = pytest.importorskip("mup")
    recipe = recipe_of(TEXT, dim=64, **{"model.tie_embeddings": False})
    ours, theirs = model_of(recipe), model_of(recipe)
    shapes = [
        model_of(recipe_of(TEXT, dim=dim, base=None, **{"model.tie_embeddings": False})) for dim in (32, 48)
    ]
    mup.set_base_shapes(theirs, shapes[0], delta=shapes[1], rescale_params=False)
    wider = 64 / BASE
    with torch.no_grad():
        theirs.decoder.norm.weight.mul_(wider)
    twin = mup.MuAdam(theirs.parameters(), lr=0.01, betas=(0.9, 0.98), eps=1e-20)
    optimizer = build_optimizer(
        recipe.step.optimizer.model_copy(update={"eps": 1e-20}), ours, role_of=ours.role_of
    )
    batch = inputs(encoder_decoder=False)
    for _ in range(3):
        one, labels = read(ours, batch)
        other = read(theirs, batch)[0] / wider
        assert torch.allclose(one, other, atol=2e-5), (one - other).abs().max()
        for logits in (one, other):
            torch.nn.functional.cross_entropy(logits[:, :64], labels).backward()
        optimizer.update(learning_rate=0.01, skip=torch.tensor(False))
        twin.step()
        ours.zero_grad()
        theirs.zero_grad()
