import math
from dataclasses import replace

import pytest
import torch

from tests.small_run import small_parts, small_recipe
from tests.training.small_line import equal, small_line, snapshot
from trimtab.build import build
from trimtab.config.load import load_recipe
from trimtab.config.paths import resolve_paths
from trimtab.config.tokenizer import SentencePieceTokenizer
from trimtab.data.tokenizer import train_tokenizer
from trimtab.errors import InputError, input_error
from trimtab.flow import LossOutput
from trimtab.launch import train
from trimtab.progress import Silent
from trimtab.sources import open_sources
from trimtab.training import preflight as checks
from trimtab.training.preflight import (
    blank_references,
    cut_two_ways,
    dropped_examples,
    fullest_pack,
    in_four,
    in_one_pack,
    is_out_of_memory,
    longest_batch,
    on_device,
    preflight,
    probe_window,
)
from trimtab.translator import Translator


@pytest.fixture
def parts(tmp_path):
    return small_parts(tmp_path)


def found(parts):
    return [(finding.code, finding.severity) for finding in preflight(parts)]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"step.optimizer": {"kind": "adafactor"}, "loss": {"label_smoothing": 0.1, "z_loss": 1e-4}},
        {"model.norm_position": "after", "model.positions": "rotary", "model.norm": "rms"},
        {"model.positions": "learned", "model.tie_embeddings": "decoder", "model.activation": "swiglu"},
        {
            "data.tokenizer": {"vocabulary_size": 320},
            "data.train.0.tags": ["<plain>"],
            "data.valid.tags": ["<plain>"],
        },
        {"step.tokens_per_step": 32, "step.tokens_per_micro_batch": 32, "data.valid": None},
    ],
)
def test_nothing_is_found_in_a_healthy_recipe(tmp_path, changes):
    assert found(small_parts(tmp_path, **changes)) == []


def test_weights_moments_gradients_and_mode_are_left_as_they_were(tmp_path):
    line = small_line(tmp_path, **{"length": "3 steps", "evaluate.every": "50 steps"})
    line.train()
    optimizer = line.parts.optimizer
    weights, moments = line.weights(), snapshot(optimizer.state_tensors())
    assert moments
    list(preflight(line.parts))
    assert equal(weights, line.weights())
    assert equal(moments, optimizer.state_tensors())
    assert all(parameter.grad is None for parameter in optimizer.parameters)
    assert line.parts.model.training


def test_a_tokenizer_of_another_script_is_found(tmp_path):
    foreign = ["корабль идёт по морю", "ветер поднимает парус", "капитан видит берег"]
    config = SentencePieceTokenizer.model_construct(
        vocabulary_size=30, byte_fallback=False, character_coverage=1.0
    )
    train_tokenizer(config, lines=foreign, symbols=[], out=tmp_path / "foreign")
    tokenizer = {"path": str(tmp_path / "foreign" / "sentencepiece.model")}
    results = list(preflight(small_parts(tmp_path / "run", **{"data.tokenizer": tokenizer})))
    unknown = [finding for finding in results if finding.code == "D201"]
    assert [finding.severity for finding in unknown] == ["error", "error"]
    assert ["source" in unknown[0].message, "target" in unknown[1].message] == [True, True]


@pytest.mark.parametrize(("least", "severity"), [(2, None), (4, "warning"), (6, "error")])
def test_examples_that_filters_drop_are_counted_by_reason(tmp_path, least, severity):
    parts = small_parts(tmp_path, **{"data.transforms": [{"kind": "length", "min": least}]})
    results = list(dropped_examples(parts))
    assert [(each.code, each.severity) for each in results] == ([("D202", severity)] if severity else [])
    for each in results:
        share = len(parts.sources.sample.dropped) / 200
        assert each.message.startswith(f"{share:.1%} of the first 200 examples are dropped: ")
        assert f" {share:.1%}" in each.message.partition(":")[2]


@pytest.mark.parametrize(("blank", "severity"), [(0, None), (3, "warning"), (24, "error")])
def test_blank_validation_lines_are_found(tmp_path, blank, severity):
    recipe = small_recipe(tmp_path)
    lines = (tmp_path / "dev.de").read_text().splitlines()
    (tmp_path / "dev.de").write_text("".join(f"{line}\n" for line in [" "] * blank + lines[blank:]))
    loaded = resolve_paths(load_recipe(recipe))
    sources = open_sources(loaded, tokenizer_folder=tmp_path / "tokenizer", progress=Silent())
    results = list(blank_references(build(loaded, sources)))
    assert [(each.code, each.severity) for each in results] == ([("D203", severity)] if severity else [])


def test_where_everything_is_dropped_there_is_nothing_to_train_on(tmp_path):
    small_parts(tmp_path)  # leaves its tokenizer, which would find no text to be trained on
    with pytest.raises(InputError, match="nothing is left to train on"):
        small_parts(tmp_path, **{"data.transforms": [{"kind": "length", "min": 7}]})


def test_a_first_loss_far_from_that_of_ignorance_is_found(parts):
    with torch.no_grad():
        parts.model.output_matrix.mul_(10)
    results = [finding for finding in preflight(parts) if finding.code == "L201"]
    assert [finding.severity for finding in results] == ["warning"]
    assert f"ln(vocabulary) is {math.log(66):.3f}" in results[0].message


def test_a_first_loss_that_is_no_number_is_an_error(parts):
    with torch.no_grad():
        parts.model.output_matrix[5] = math.inf
    assert ("L201", "error") in found(parts)


def mean_of_means(objective, packs, *, scale=None):
    """What most loops do: each micro-batch's mean counts the same, however many targets it has."""
    for pack in packs:
        (objective(pack).objective / pack.num_targets / len(packs)).backward()


def number_of_packs(objective, packs, *, scale=None):
    """As before the divisor was mended in other trainers: a sum of means."""
    for pack in packs:
        (objective(pack).objective / pack.num_targets).backward()


@pytest.mark.parametrize("wrong", [mean_of_means, number_of_packs])
def test_a_wrong_divisor_is_found(parts, monkeypatch, wrong):
    monkeypatch.setattr(checks, "accumulate", wrong)
    results = list(cut_two_ways(parts))
    assert [(each.code, each.severity) for each in results] == [("S201", "error")]
    assert results[0].message.startswith("cut in 4 packs a window's gradient differs by ")


def test_the_probe_is_cut_into_four_pieces_of_unequal_size_that_lose_nothing(parts):
    window = probe_window(parts)
    assert 512 < window.num_targets <= 1024
    pieces = in_four(window)
    assert sum(each.num_targets for each in pieces) == window.num_targets
    assert sum(each.num_tokens for each in pieces) == window.num_tokens
    assert pieces[3].num_targets > 4 * pieces[0].num_targets  # alike they would let means of means pass


@pytest.mark.parametrize("tokens", [32, 64, 256])
def test_what_is_cut_in_two_ways_is_one_pack_at_first(tmp_path, tokens):
    parts = small_parts(tmp_path, **{"step.tokens_per_micro_batch": tokens})
    whole = in_one_pack(probe_window(parts), parts)
    (pack,) = on_device(parts, whole)
    assert pack.num_targets == whole.num_targets <= parts.shape.target_room
    assert pack.num_targets > parts.shape.target_room / 2


@pytest.mark.parametrize("smaller", [{"source_slots": 64}, {"max_segments": 9}])
def test_whatever_fills_a_pack_first_it_is_one_pack(parts, smaller):
    roomy = len(in_one_pack(probe_window(parts), parts).target)
    parts.shape = replace(parts.shape, **smaller)
    whole = in_one_pack(probe_window(parts), parts)
    assert len(on_device(parts, whole)) == 1
    assert 4 < len(whole.target) < roomy


def full_memory(error):
    def objective(pack):
        raise error

    return objective


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.\nMore about it"),
        RuntimeError(
            "[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory: you tried"
        ),
        MemoryError(),
    ],
)
def test_a_longest_batch_that_does_not_fit_is_found(parts, error):
    parts.objective = full_memory(error)
    (finding,) = longest_batch(parts)
    assert (finding.code, finding.severity) == ("P201", "error")
    assert "a micro-batch of 128 target tokens" in finding.message
    assert "\n" not in finding.message
    assert "step.tokens_per_micro_batch to 64;" in finding.fix


def test_where_the_micro_batch_cannot_be_smaller_the_examples_must_be(tmp_path):
    parts = small_parts(tmp_path, **{"step.tokens_per_micro_batch": 32})
    parts.objective = full_memory(MemoryError())
    (finding,) = longest_batch(parts)
    assert "lower data.max_tokens" in finding.fix


def test_what_torch_raises_on_a_cpu_without_memory_is_recognised():
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**50)
    assert is_out_of_memory(caught.value)


def test_another_error_in_the_longest_batch_is_not_taken_for_missing_memory(parts):
    parts.objective = full_memory(RuntimeError("shapes do not match"))
    with pytest.raises(RuntimeError, match="shapes"):
        list(longest_batch(parts))


def test_gradients_of_a_batch_that_did_not_fit_are_taken_away(parts):
    healthy, calls = parts.objective, []

    def objective(pack):
        calls.append(pack)
        if pack is not calls[-1] or pack.num_tokens == pack.num_segments * 64:
            healthy(pack).objective.backward()
            raise MemoryError
        return healthy(pack)

    parts.objective = objective
    assert found(parts) == [("P201", "error")]
    assert all(parameter.grad is None for parameter in parts.optimizer.parameters)


def test_no_pack_of_the_run_is_larger_than_the_fullest(parts):
    fullest = fullest_pack(parts)
    longest = parts.recipe.data.max_tokens
    assert fullest.num_tokens == 2 * fullest.num_segments * longest
    assert fullest.num_targets > parts.shape.target_room - longest
    _, packs = next(iter(parts.windows(0)))
    assert all(pack.num_targets < fullest.num_targets + longest for pack in packs)


def test_decoding_that_fails_is_found(parts, monkeypatch):
    def translate(self, lines):
        raise input_error("no piece for this tag")

    monkeypatch.setattr(Translator, "translate", translate)
    results = list(preflight(parts))
    assert [(each.code, each.severity) for each in results] == [("E201", "error")]
    assert "no piece for this tag" in results[0].message
    assert parts.model.training


def test_an_error_of_preflight_ends_the_run_before_its_first_step(tmp_path):
    recipe = small_recipe(tmp_path, **{"data.transforms": [{"kind": "length", "min": 6}]})
    from trimtab.errors import RunFailed

    with pytest.raises(RunFailed, match="nothing was trained: D202 examples-dropped"):
        train(recipe, out=tmp_path / "run")
    assert not (tmp_path / "run" / "metrics.jsonl").exists()
    assert "D202" in (tmp_path / "run" / "findings.jsonl").read_text()


def test_the_loss_of_a_poisoned_objective_differs_between_two_cuts(parts):
    healthy = parts.objective
    # What a batch statistic does: the objective of a pack depends on what else is in it.
    parts.objective = lambda pack: LossOutput(healthy(pack).objective * pack.num_segments, healthy(pack).loss)
    assert [each.code for each in cut_two_ways(parts)] == ["S201"]


def test_a_validation_set_without_tags_is_told_where_training_has_some(tmp_path):
    assert found(small_parts(tmp_path, **{"data.train.0.tags": ["<plain>"]})) == [("D204", "warning")]
