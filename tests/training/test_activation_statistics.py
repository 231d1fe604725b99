import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from tests.small_run import small_parts
from tests.watch.test_attention import slow_twin
from trimtab.model.block import CrossAttention, SelfAttention
from trimtab.tasks.text.validation_scores import loss_of
from trimtab.training.activation_statistics import (
    MOST_LOGITS,
    MOST_ROWS,
    ActivationStatistics,
    one_pass,
    rows_of,
    watching,
)
from trimtab.watch.activations import Activations


def built(folder, **changes):
    parts = small_parts(folder, **changes)
    parts.model.eval()
    return parts, parts.datasets.valid["valid"]


def seen_in(parts, valid):
    with watching(parts.model, sentences=len(valid.target)) as found:
        loss = loss_of(parts, parts.model, valid)
    return found, loss


@pytest.mark.quick("16", "1024")
@pytest.mark.parametrize("budget", [16, 32, 1024])
def test_one_pack_of_a_set_is_looked_at_however_many_there_are(tmp_path, budget):
    parts, valid = built(tmp_path, **{"step.tokens_per_micro_batch": budget, "data.max_tokens": 16})
    packs = [*parts.batching.pack_pairs(valid.source, valid.target)]
    assert (len(packs) > 1) == (budget < 1024)
    (inside,), loss = seen_in(parts, valid)
    assert loss == loss_of(parts, parts.model, valid)
    assert list(inside.activations.left) == ["encoder.blocks.0", "decoder.blocks.0"]
    assert set(inside.largest) == {
        "encoder.blocks.0.attention",
        "decoder.blocks.0.attention",
        "decoder.blocks.0.cross",
    }
    assert all(0 < each < 10 for each in (*inside.activations.left.values(), *inside.largest.values()))
    assert inside.findings == []
    assert set(inside.context) == {"loss_with_other_source"}
    assert inside.gradients.keys() == dict(parts.model.named_parameters()).keys()
    assert {name.partition(":")[0] for name in inside.attention_by_token} <= {"encoder", "decoder", "source"}
    assert all(0 < each <= 1 for each in inside.activations.distinct.values())
    assert all(each.grad is None for each in parts.model.parameters())


def test_nothing_is_seen_where_nothing_is_read(tmp_path):
    parts, _ = built(tmp_path)
    with watching(parts.model, sentences=24) as found:
        pass
    assert found == []


def test_hooks_are_gone_after_an_error_too(tmp_path):
    parts, valid = built(tmp_path)
    parts.model.decoder.norm.register_forward_hook(fail)
    with pytest.raises(ZeroDivisionError):
        seen_in(parts, valid)
    hooks = [each for module in parts.model.modules() for each in module._forward_hooks.values()]
    assert hooks == [fail]
    assert not any(module._forward_pre_hooks for module in parts.model.modules())


def fail(*given):
    raise ZeroDivisionError


@pytest.mark.parametrize(
    "changes",
    [{}, {"model.positions": "rotary", "model.kv_heads": 1}, {"model.norm": "rms", "model.bias": False}],
)
def test_the_logits_are_those_of_the_queries_and_keys_that_the_model_uses(tmp_path, changes):
    parts, valid = built(tmp_path, **changes)
    pack = max(parts.batching.pack_pairs(valid.source, valid.target), key=lambda each: each.num_tokens)
    kept = {}

    def keep(name):
        def hook(module, given, options):
            if isinstance(module, SelfAttention):
                x, of, positions = given
                kept[name] = (*module.project(x, positions.rotary)[:2], of, of, options["causal"])
            else:
                x, memory, of, to = given
                queries = module.q(x).view(len(x), module.heads, module.size)
                kept[name] = (queries, module.keys_values(memory)[0], of, to, False)

        return hook

    for name, module in parts.model.named_modules():
        if isinstance(module, SelfAttention | CrossAttention):
            module.register_forward_pre_hook(keep(name), with_kwargs=True)
    with torch.no_grad(), one_pass(parts.model, pack) as inside:
        parts.model(pack)
    rows = rows_of(pack) + 1
    assert rows == MOST_ROWS + 1
    for name, (queries, keys, of, to, causal) in kept.items():
        largest, share = slow_twin(queries, keys, of.cu_seqlens[:rows], to.cu_seqlens[:rows], causal=causal)
        assert inside.largest[name] == pytest.approx(largest, rel=1e-4)
        assert inside.shares[name] == pytest.approx(share.tolist(), rel=1e-3, nan_ok=True)


def test_the_residual_path_is_measured_where_the_blocks_hand_it_on(tmp_path):
    parts, valid = built(tmp_path, **{"model.layers": 2})
    pack = next(iter(parts.batching.pack_pairs(valid.source, valid.target)))
    with torch.no_grad(), one_pass(parts.model, pack) as inside:
        hidden = parts.model(pack)
    names = [f"{side}.blocks.{i}" for side in ("encoder", "decoder") for i in range(2)]
    assert list(inside.activations.left) == names
    for before, after in ((names[0], names[1]), (names[2], names[3])):
        assert inside.activations.left[before] == pytest.approx(inside.activations.entered[after])
    assert math.isfinite(float(hidden.sum()))
    assert inside.scores["activation_rms"] == inside.activations.left[names[-1]]


def test_fewer_sentences_are_looked_at_where_they_may_be_long(tmp_path):
    parts, valid = built(tmp_path)
    pack = next(iter(parts.batching.pack_pairs(valid.source, valid.target)))
    for longest, rows in ((32, MOST_ROWS), (512, 4), (1024, 1), (5000, 1)):
        longer = replace(pack, source=replace(pack.source, max_seqlen=longest))
        assert rows_of(longer) == rows
        assert rows == 1 or rows * longest**2 <= MOST_LOGITS
    assert rows_of(replace(pack, num_segments=3)) == 3


def test_a_model_without_blocks_of_ours_is_not_looked_at():
    model = nn.Linear(3, 2)
    with watching(model, sentences=8) as found:
        model(torch.zeros(8, 3))
    assert found == []


def test_statistics_of_a_model_without_attention_have_no_numbers_of_it():
    seen = ActivationStatistics(Activations())
    assert seen.scores.keys() == {"activation_rms"}
    assert seen.findings == []
