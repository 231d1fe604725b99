import pytest
import torch

from tests.small_run import small_parts, small_recipe
from tests.training.small_line import equal, small_line, snapshot
from trimtab.choices import shape_for
from trimtab.config.tokenizer import SentencePieceTokenizer
from trimtab.data.tokenizer import train_tokenizer
from trimtab.errors import RunFailed
from trimtab.launch import train
from trimtab.training.preflight import every_check, preflight


def found(parts):
    return [(finding.code, finding.severity) for finding in preflight(parts)]


@pytest.mark.slow
def test_weights_moments_gradients_and_mode_are_left_as_they_were(tmp_path):
    line = small_line(tmp_path, **{"length": "3 steps", "evaluate.every": "50 steps"})
    line.train()
    optimizer = line.parts.stepper.optimizer
    weights, moments = line.weights(), snapshot(optimizer.state_tensors())
    assert moments
    list(preflight(line.parts))
    assert equal(weights, line.weights())
    assert equal(moments, optimizer.state_tensors())
    assert all(parameter.grad is None for parameter in optimizer.parameters)
    assert line.parts.model.training


@pytest.mark.slow
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


@pytest.mark.slow
def test_an_error_of_preflight_ends_the_run_before_its_first_step(tmp_path):
    recipe = small_recipe(tmp_path, **{"data.transforms": [{"kind": "length", "min": 6}]})
    with pytest.raises(RunFailed, match="nothing was trained: D202 examples-dropped"):
        train(recipe, out=tmp_path / "run")
    assert not (tmp_path / "run" / "metrics.jsonl").exists()
    assert "D202" in (tmp_path / "run" / "findings.jsonl").read_text()


@pytest.mark.slow
def test_a_validation_set_without_tags_is_told_where_training_has_some(tmp_path):
    assert found(small_parts(tmp_path, **{"data.train.0.tags": ["<plain>"]})) == [("D204", "warning")]


def test_gradients_of_a_batch_that_did_not_fit_are_taken_away(parts):
    healthy, calls = parts.stepper.objective, []

    def objective(pack):
        calls.append(pack)
        if pack is not calls[-1] or pack.num_tokens == pack.num_segments * 64:
            healthy(pack).objective.backward()
            raise MemoryError
        return healthy(pack)

    parts.stepper.objective = objective
    assert found(parts) == [("P201", "error")]
    assert all(parameter.grad is None for parameter in parts.stepper.optimizer.parameters)


@pytest.mark.slow
def test_no_check_leaves_a_trace_on_weights_mode_or_random_numbers(parts):
    weights, drawn = snapshot(parts.model.state_dict()), torch.get_rng_state()
    parts.model.encoder.eval()
    modes = [module.training for module in parts.model.modules()]
    for check in every_check.of_the_model(parts):
        assert every_check.run_check(check, parts) == []
        assert equal(weights, parts.model.state_dict()), check.__name__
        assert torch.equal(drawn, torch.get_rng_state()), check.__name__
        assert modes == [module.training for module in parts.model.modules()], check.__name__
        assert parts.stepper.optimizer.state_tensors() == {}, check.__name__


@pytest.mark.quick("bf16_mixed")
@pytest.mark.parametrize("precision", ["fp32", "bf16_mixed"])
def test_packs_of_one_fixed_shape_as_on_a_gpu_are_well(parts_with, precision):
    parts = parts_with(step={"precision": precision})
    parts.batching.shape = shape_for(parts.recipe, parts.datasets.lengths, packed=True)
    assert parts.batching.shape.fixed
    assert found(parts) == []


def test_whichever_check_meets_the_end_of_memory_it_is_told_as_such(parts):
    def check(parts):
        parts.model.eval()
        raise MemoryError
        yield

    (finding,) = every_check.run_check(check, parts)
    assert finding.code == "P201"
    assert parts.model.training


def test_a_check_that_fails_otherwise_is_not_silent(parts):
    def check(parts):
        raise RuntimeError("shapes do not match")
        yield

    with pytest.raises(RuntimeError, match="shapes"):
        every_check.run_check(check, parts)


def test_after_a_loss_that_is_no_number_nothing_else_is_told_of_the_model(parts):
    with torch.no_grad():
        parts.model.embedding.weight[5] = torch.nan
    assert found(parts) == [("L201", "error")]
