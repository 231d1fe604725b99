"""Leading target tokens that do not count: in packs, in windows, and in the gradient for every cut."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.data.rows import PAD, START, rows
from tests.document_run import document_recipe
from trimtab.build import build
from trimtab.config.decoder_model import DecoderModel
from trimtab.config.load import load_recipe
from trimtab.config.paths import resolve_paths
from trimtab.data.cut import cut, pack_pairs
from trimtab.data.pack import assemble
from trimtab.data.shape import PackShape
from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.decoder_session import PromptSession
from trimtab.progress import Silent
from trimtab.step.accumulate import accumulate
from trimtab.tasks.task_of import open_datasets
from trimtab.types import IGNORE, Ragged

SYMBOLS = {"start_symbol": START, "pad_symbol": PAD}
examples = st.lists(
    st.tuples(st.integers(1, 16), st.integers(1, 16), st.integers(0, 15)), min_size=1, max_size=30
).map(lambda found: [(source, target, min(prompt, target - 1)) for source, target, prompt in found])


def window_of(found):
    source, target, prompt = (np.array(each) for each in zip(*found, strict=True))
    zeros = np.zeros(len(found), np.int64)
    return TextGlobalBatch(
        rows(source), rows(target, first=10_000), zeros, zeros, 0, prompt=prompt.astype(np.int32)
    )


@given(found=examples, num_packs=st.integers(1, 4), fixed=st.booleans(), sort=st.booleans())
def test_the_labels_of_all_packs_are_the_targets_without_their_prompts(found, num_packs, fixed, sort):
    shape = PackShape(num_packs, 512, 512, 100, 16, 16, fixed, sort)
    window = window_of(found)
    packs = cut(window, shape, **SYMBOLS)
    labels = [label for pack in packs for label in pack.labels.tolist() if label != IGNORE]
    wanted = [
        id for row, prompt in enumerate(window.prompt) for id in window.target.row(row)[prompt:].tolist()
    ]
    assert sorted(labels) == sorted(wanted)
    assert sum(pack.num_targets for pack in packs) == window.num_targets == len(wanted)
    assert sum(pack.num_tokens for pack in packs) == window.num_tokens
    again = list(pack_pairs(window.source, window.target, shape, prompt=window.prompt, **SYMBOLS))
    assert sum(pack.num_targets for pack in again) == len(wanted)


@given(found=examples, fixed=st.booleans(), sort=st.booleans())
def test_a_prefix_is_what_is_given_and_the_start_symbol_before_it(found, fixed, sort):
    shape = PackShape(2, 512, 512, 100, 16, 16, fixed, sort, prefix=True)
    window = window_of(found)
    of_row = {
        window.target.row(row)[-1]: int(prompt) + 1 if prompt else 0
        for row, prompt in enumerate(window.prompt)
    }
    for pack in cut(window, shape, **SYMBOLS):
        assert pack.target.prefix.dtype == torch.int32
        assert len(pack.target.prefix) == len(pack.target.cu_seqlens) - 1, "one for each segment"
        ends = pack.target.cu_seqlens[1 : pack.num_segments + 1].tolist()
        assert pack.target.prefix.tolist()[: pack.num_segments] == [
            of_row[int(pack.labels[end - 1])] for end in ends
        ]
        assert not pack.target.prefix[pack.num_segments :].any(), "nothing of the tail is given"


@given(found=examples)
def test_without_prompts_or_where_no_model_asks_for_it_no_prefix_is_told(found):
    window = window_of(found)
    shape = PackShape(1, 1024, 1024, 100, 16, 16, True, False, prefix=True)
    (pack,) = pack_pairs(window.source, window.target, shape, **SYMBOLS)
    assert not pack.target.prefix.any()
    plain = replace(shape, prefix=False)
    (pack,) = pack_pairs(window.source, window.target, plain, prompt=window.prompt, **SYMBOLS)
    assert pack.target.prefix is None


@pytest.mark.quick("bidirectional")
@pytest.mark.parametrize("how", ["causal", "bidirectional"])
@given(prompt=st.integers(1, 7), count=st.integers(1, 4))
@settings(max_examples=20, deadline=None)
def test_a_model_sees_a_prompt_in_training_as_it_sees_it_when_it_goes_on_from_it(how, prompt, count):
    model = DecoderOnly(
        DecoderModel(dim=16, heads=2, layers=2, feed_forward=24, prefix=how),
        num_ids=40,
        max_positions=32,
        seed=1,
    ).eval()
    row = list(range(10, 10 + prompt + count))
    shape = PackShape(1, 0, 32, 8, 0, 16, False, False, prefix=how == "bidirectional")
    pack = assemble(Ragged.of([[]]), Ragged.of([row]), shape, prompt=np.array([prompt], np.int32), **SYMBOLS)
    with torch.no_grad():
        trained = (model(pack) @ model.output_matrix.T)[:, : model.num_ids]
        session = PromptSession(model, rows=1, width=1)
        session.feed(torch.tensor([[START, *row[: prompt - 1]]]), torch.tensor([0]))
        for place in range(count):
            went_on = session.step(torch.tensor([[row[prompt - 1 + place]]]))[0, 0]
            torch.testing.assert_close(went_on, trained[prompt + place], rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_the_gradient_is_the_same_for_every_cut_and_nothing_of_a_prompt_is_in_it(tmp_path):
    recipe = resolve_paths(
        load_recipe(document_recipe(tmp_path, **{"model.dropout": 0.0, "step.precision": "fp32"}))
    )
    sources = open_datasets(recipe, tokenizer_folder=tmp_path / "tokenizer", progress=Silent())
    gradients = []
    for micro in (256, 64, 32):
        step = recipe.step.model_copy(update={"tokens_per_micro_batch": micro})
        parts = build(recipe.model_copy(update={"step": step}), sources, device=torch.device("cpu"))
        window, packs = next(iter(parts.stream.batches(0)))
        assert window.prompt.any()
        total = accumulate(parts.stepper.objective, packs)
        gradients.append(torch.cat([p.grad.double().flatten() for p in parts.model.parameters()]))
    for other in gradients[1:]:
        assert (other - gradients[0]).norm() <= 1e-6 * gradients[0].norm()
    # The slow twin: every example by itself, its loss read off where it counts.
    summed, count = 0.0, 0
    for row in range(len(window.target)):
        source, target = window.source.between(row, row + 1), window.target.between(row, row + 1)
        pack = next(iter(pack_pairs(source, target, parts.batching.shape, **sources.tokenizers.symbols)))
        with torch.no_grad():
            logits = parts.model(pack) @ parts.model.output_matrix.T
            losses = torch.nn.functional.cross_entropy(
                logits[:, : sources.tokenizer.num_ids], pack.labels.clamp(min=0), reduction="none"
            )
        prompt = int(window.prompt[row])
        summed += float(losses[prompt : int(target.lengths[0])].sum())
        count += int(target.lengths[0]) - prompt
    assert count == window.num_targets <= recipe.step.tokens_per_step
    assert abs(float(total.loss) - summed / count) < 1e-5
