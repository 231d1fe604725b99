"""Rules about steps: what must keep them silent, and numbers that they tell."""

import math
from dataclasses import replace

import pytest

from tests.checks.written import run_of, setting
from trimtab.checks.document import Call, Entry
from trimtab.checks.place import Place
from trimtab.checks.rules import (
    s101_no_warmup,
    s102_schedule_of_another_length,
    s103_decay_after_the_end,
    s105_noam_peak,
    s106_rate_starts_at_its_peak,
    s107_warmup_ignored,
    s108_lora_rate_low,
    s109_full_rate_high,
    s110_rate_high_for_size,
    s111_sgd_at_rate_one,
    s113_lion_at_adams_rate,
    s114_adam_with_weight_decay,
    s115_second_moment_horizon,
    s116_accumulation_on_one_device,
    s119_adafactor_of_two_rates,
    s123_clip_times_parameters,
    s124_no_clipping_from_scratch,
    s127_loss_grows_with_accumulation,
    s128_mean_of_means,
    s129_token_batch_by_sentences,
    s130_step_in_backward,
    s131_offloaded_optimizer_misused,
    s132_galore_settings,
    s135_share_read_as_steps,
)
from trimtab.checks.rules.s110_rate_high_for_size import usual_rate


def found(module, **what):
    return list(module.check(run_of(**what)))


def severities(module, **what):
    return [each.finding.severity for each in found(module, **what)]


def call(name, qualifier="", has_rest=False, line=1, **arguments):
    place = Place("train.py", line)
    entries = {
        key: Entry(key=key, value=value, raw=str(value), place=place, value_place=place)
        for key, value in arguments.items()
    }
    return Call(name=name, qualifier=qualifier, arguments=entries, has_rest=has_rest, place=place)


def script(*calls, imports=(), text="", **what):
    run = run_of(syntax="python", **what)
    document = replace(run.document, calls=calls, imports=frozenset(imports), text=text)
    return replace(run, document=document)


SCRATCH = {
    "optimizer": "adamw",
    "from_scratch": True,
    "learning_rate": 5e-4,
    "schedule": "linear",
    "warmup_steps": 0,
}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"norm_placement": "post"}, ["warning"]),
        ({}, ["note"]),
        ({"norm_placement": "pre"}, []),
        ({"learning_rate": 5e-5}, []),
        ({"from_scratch": False, "norm_placement": "post"}, []),
        ({"warmup_steps": 100}, []),
        ({"warmup_ratio": 0.1}, []),
        ({"optimizer": "sgd"}, []),
        ({"schedule": "noam"}, []),
        ({"schedule": "constant", "warmup_steps": 100}, ["note"]),
    ],
)
def test_warm_up_is_missed_from_scratch_by_norm_placement(change, told):
    assert severities(s101_no_warmup, concepts=SCRATCH | change) == told


@pytest.mark.parametrize(("horizon", "told"), [(1000, []), (8000, ["error"]), (5000, ["warning"])])
def test_a_schedule_counted_in_micro_batches_is_an_error(horizon, told):
    schedule = call("get_linear_schedule_with_warmup", num_training_steps=horizon)
    run = script(schedule, concepts={"steps": 1000, "accumulation": 8})
    assert [each.finding.severity for each in s102_schedule_of_another_length.check(run)] == told


def test_the_decay_of_other_methods_begins_elsewhere():
    keys = {"learning_rate_decay": 0.5, "decay_method": "noam"}
    assert found(s103_decay_after_the_end, tool="opennmt", keys=keys, concepts={"steps": 1000}) == []
    assert (
        len(
            found(s103_decay_after_the_end, tool="opennmt", keys={"decay_steps": 5}, concepts={"steps": 1000})
        )
        == 1
    )
    assert (
        found(s103_decay_after_the_end, tool="opennmt", keys={"decay_steps": 5}, concepts={"steps": 60000})
        == []
    )


def test_a_decay_by_a_factor_of_one_is_no_decay():
    keys = {"learning_rate_decay": 1, "start_decay_steps": 1_000_000}
    assert found(s103_decay_after_the_end, tool="opennmt", keys=keys, concepts={"steps": 1000}) == []
    keys = {"learning_rate_decay": 0.5, "start_decay_steps": 1_000_000}
    assert len(found(s103_decay_after_the_end, tool="opennmt", keys=keys, concepts={"steps": 1000})) == 1


@pytest.mark.parametrize(("factor", "count"), [(2.0, 0), (1.0, 0), (0.0003, 1), (1000.0, 1), (0.0, 0)])
def test_the_peak_of_noam_is_calculated(factor, count):
    concepts = {"schedule": "noam", "learning_rate": factor, "hidden_size": 512, "warmup_steps": 8000}
    told = found(s105_noam_peak, tool="opennmt", concepts=concepts)
    assert len(told) == count
    if factor == 0.0003:
        assert "1.5e-07" in told[0].finding.message


def test_the_plateau_of_rsqrt_is_calculated():
    concepts = {"schedule": "rsqrt", "learning_rate": 0.05}
    (one,) = found(s106_rate_starts_at_its_peak, tool="eole", concepts=concepts)
    assert "0.05 / sqrt(4000) = 0.00079" in one.finding.message


@pytest.mark.parametrize(
    ("tool", "keys", "schedule", "count"),
    [
        ("transformers", {"warmup_ratio": 0.03}, "constant", 1),
        ("axolotl", {"warmup_steps": 10}, "constant", 1),
        ("transformers", {"warmup_steps": 0}, "constant", 0),
        ("transformers", {"warmup_steps": 10}, "constant_with_warmup", 0),
        ("opennmt", {"warmup_steps": 8000}, "none", 1),
        ("opennmt", {"warmup_steps": 1}, "none", 0),
        ("opennmt", {}, "none", 0),
        ("eole", {"training.warmup_steps": 8000}, "none", 1),
        ("mammoth", {"warmup_steps": 8000}, "linear", 0),
    ],
)
def test_a_warm_up_that_the_schedule_has_not_is_told(tool, keys, schedule, count):
    assert len(found(s107_warmup_ignored, tool=tool, keys=keys, concepts={"schedule": schedule})) == count


@pytest.mark.parametrize(
    ("change", "count"),
    [
        ({}, 1),
        ({"learning_rate": 1e-4}, 0),
        ({"adapter": "none"}, 0),
        ({"task": "preference"}, 0),
        ({"optimizer": "lion"}, 0),
    ],
)
def test_a_low_rate_of_lora_is_a_note_except_for_preferences(change, count):
    concepts = {"adapter": "qlora", "optimizer": "adamw", "learning_rate": 1e-5} | change
    assert severities(s108_lora_rate_low, concepts=concepts) == ["note"] * count


def test_a_default_rate_is_told_where_the_adapter_stands():
    rate = setting("learning_rate", 2e-5, origin="default")
    concepts = {"adapter": "lora", "optimizer": "adamw", "learning_rate": rate}
    (one,) = found(s108_lora_rate_low, tool="trl", concepts=concepts | {"task": "language_model"})
    assert one.key == "adapter"
    assert found(s108_lora_rate_low, tool="trl", concepts=concepts) == []  # reinforcement, perhaps


@pytest.mark.parametrize(
    ("change", "count"),
    [({}, 1), ({"learning_rate": 2e-5}, 0), ({"parameters_billion": 1.0}, 0), ({"encoder_decoder": True}, 0),
     ({"adapter": "lora"}, 0), ({"from_scratch": True}, 0)],
)  # fmt: skip
def test_a_high_rate_of_full_training_is_a_note_for_large_decoders(change, count):
    concepts = {
        "adapter": "none",
        "optimizer": "adamw",
        "learning_rate": 2e-4,
        "parameters_billion": 7.0,
    } | change
    assert len(found(s109_full_rate_high, concepts=concepts)) == count


def test_the_usual_rate_falls_with_size_and_meets_the_table():
    assert usual_rate(0.01) == usual_rate(0.16) == 6e-4
    assert usual_rate(6.7) == pytest.approx(1.2e-4)
    assert usual_rate(175.0) == pytest.approx(6e-5)
    assert usual_rate(1000.0) == 6e-5
    assert usual_rate(1.3) == pytest.approx(2.4e-4, rel=0.1)


def test_a_translator_is_not_measured_by_language_models():
    concepts = SCRATCH | {"parameters_billion": 1.0, "learning_rate": 0.01}
    assert found(s110_rate_high_for_size, concepts=concepts) == []
    assert len(found(s110_rate_high_for_size, concepts=concepts | {"encoder_decoder": False})) == 1


@pytest.mark.parametrize(
    ("keys", "count"), [({"encoder_type": "transformer"}, 1), ({"encoder_type": "brnn"}, 0), ({}, 0)]
)
def test_recurrent_networks_may_have_sgd_at_one(keys, count):
    concepts = {"optimizer": "sgd", "learning_rate": 1.0}
    assert len(found(s111_sgd_at_rate_one, tool="opennmt", keys=keys, concepts=concepts)) == count


@pytest.mark.parametrize(
    ("concepts", "count"),
    [({"learning_rate": 5e-5}, 1), ({"learning_rate": 1e-5}, 0), ({"learning_rate": 1e-4, "adapter": "lora"}, 0),
     ({"learning_rate": 2e-4, "adapter": "lora"}, 1), ({"learning_rate": 5e-5, "from_scratch": True}, 0)],
)  # fmt: skip
def test_lion_is_compared_with_what_adamw_gets(concepts, count):
    assert len(found(s113_lion_at_adams_rate, concepts={"optimizer": "lion", **concepts})) == count


def test_deepspeeds_adam_is_adamw_unless_it_is_told_otherwise():
    concepts = {"optimizer": "adam", "weight_decay": 0.1}
    assert found(s114_adam_with_weight_decay, tool="deepspeed", concepts=concepts) == []
    keys = {"optimizer.params.adam_w_mode": False}
    assert len(found(s114_adam_with_weight_decay, tool="deepspeed", keys=keys, concepts=concepts)) == 1
    assert len(found(s114_adam_with_weight_decay, tool="torch", concepts=concepts)) == 1


@pytest.mark.parametrize(
    ("beta2", "batch", "count"),
    [(0.999, 4_000_000, 1), (0.95, 4_000_000, 0), (0.9, 500, 1), (0.999, 32_000, 0)],
)
def test_the_horizon_of_the_second_moment_is_counted_in_tokens(beta2, batch, count):
    concepts = {
        "optimizer": "adamw",
        "beta2": beta2,
        "micro_batch": batch,
        "batch_unit": "tokens",
        "devices": 1,
    }
    assert len(found(s115_second_moment_horizon, concepts=concepts)) == count


@pytest.mark.parametrize("tokens", [1, 7, 64, 500, 5_000, 50_000, 1_000_000, 20_000_000])
def test_the_decay_rate_that_is_advised_is_told_so_that_it_has_the_half_life_that_is_promised(tokens):
    told = s115_second_moment_horizon.shown(0.5 ** (tokens / 1e7))
    assert 0 < float(told) < 1
    assert math.log(2) / -math.log(float(told)) * tokens == pytest.approx(1e7, rel=0.06)


@pytest.mark.parametrize(
    ("made", "count"),
    [
        (call("Adafactor", lr=1e-3, scale_parameter=False), 1),
        (call("Adafactor", lr=1e-3, relative_step=True), 1),
        (call("Adafactor", lr=1e-3, relative_step=False), 0),
        (call("Adafactor", lr=None, relative_step=True), 0),
        (call("Adafactor", lr=1e-3), 0),
        (call("Adafactor", qualifier="torch.optim", lr=1e-3), 0),
        (call("Adafactor", qualifier="transformers", lr=1e-3), 1),
        (call("Adafactor", lr=1e-3, scale_parameter=False, has_rest=True), 0),
    ],
)
def test_only_transformers_adafactor_has_a_rate_of_its_own(made, count):
    assert len(list(s119_adafactor_of_two_rates.check(script(made)))) == count


@pytest.mark.parametrize(("clip", "told"), [(1.0, ["warning"]), (0.0, []), (1e-8, [])])
def test_mammoths_clip_is_told_unless_it_was_divided_already(clip, told):
    assert severities(s123_clip_times_parameters, tool="mammoth", concepts={"clip": clip}) == told
    assert found(s123_clip_times_parameters, tool="opennmt", concepts={"clip": clip}) == []


MARIAN = {"model_family": "marian", "accumulation": 8}


@pytest.mark.parametrize(
    ("change", "version", "count"),
    [
        ({}, (5, 24, 0), 1),
        ({}, (5, 0, 0), 1),
        ({}, (4, 57, 0), 0),
        ({}, (5, 40, 0), 0),
        ({}, None, 0),
        ({"model_family": "llama"}, (5, 24, 0), 0),
        ({"label_smoothing": 0.1}, (5, 24, 0), 0),
        ({"label_smoothing": 0.0}, (5, 24, 0), 1),
        ({"accumulation": 1}, (5, 24, 0), 0),
        ({"accumulation": 1, "devices": 4}, (5, 24, 0), 1),
    ],
)
def test_the_inflated_loss_depends_on_version_family_and_smoothing(change, version, count):
    versions = {} if version is None else {"transformers": version}
    told = found(s127_loss_grows_with_accumulation, concepts=MARIAN | change, versions=versions)
    assert len(told) == count


@pytest.mark.parametrize("family", sorted(s127_loss_grows_with_accumulation.FAMILIES))
def test_smoothing_is_proposed_where_the_model_makes_decoder_inputs_from_labels_alone(family):
    concepts = MARIAN | {"model_family": family}
    (one,) = found(
        s127_loss_grows_with_accumulation, concepts=concepts, versions={"transformers": (5, 24, 0)}
    )
    can = family in s127_loss_grows_with_accumulation.SMOOTHED
    assert ("label_smoothing_factor" in one.finding.fix) is can
    assert can or family not in ("t5", "marian", "bart", "mbart")
    assert not can or family not in ("trocr", "vision-encoder-decoder", "whisper", "m2m_100")


def test_an_own_loss_function_keeps_the_inflated_loss_away():
    versions = {"transformers": (5, 24, 0)}
    own = script(call("Seq2SeqTrainer", compute_loss_func=1), concepts=MARIAN, versions=versions)
    assert list(s127_loss_grows_with_accumulation.check(own)) == []


@pytest.mark.parametrize(("packing", "count"), [(True, 0), (False, 1)])
def test_packed_sequences_have_no_short_batches(packing, count):
    versions = {"transformers": (4, 45, 2)}
    concepts = {"accumulation": 4, "packing": packing}
    assert len(found(s128_mean_of_means, concepts=concepts, versions=versions)) == count


def test_lightning_averages_means():
    run = script(call("Trainer", accumulate_grad_batches=8), imports=["lightning"], tool="torch")
    assert len(list(s128_mean_of_means.check(run))) == 1


@pytest.mark.parametrize(
    ("keys", "count"),
    [
        ({"batch_type": "tokens"}, 1),
        ({"batch_type": "tokens", "normalization": "sents"}, 1),
        ({"batch_type": "tokens", "normalization": "tokens"}, 0),
        ({"batch_type": "sents"}, 0),
    ],
)
def test_token_batches_are_divided_by_tokens(keys, count):
    assert len(found(s129_token_batch_by_sentences, tool="opennmt", keys=keys)) == count


def test_a_step_in_backward_cannot_accumulate_and_does_not_clip():
    concepts = {"optimizer_variant": "galore_adamw_layerwise", "accumulation": 4, "clip": 1.0}
    assert severities(s130_step_in_backward, concepts=concepts) == ["error", "warning"]
    assert severities(s130_step_in_backward, concepts=concepts | {"optimizer_variant": "lomo"}) == ["warning"]
    assert severities(s130_step_in_backward, concepts=concepts | {"optimizer_variant": "galore_adamw"}) == []
    keys = {"galore_layerwise": True}
    assert severities(
        s130_step_in_backward, tool="llamafactory", keys=keys, concepts={"accumulation": 2}
    ) == ["error"]


def test_what_stands_before_the_offloaded_optimizer_is_another_matter():
    mine, clip = call("CPUOffloadOptimizer", line=5), call("clip_grad_norm_", line=2)
    assert list(s131_offloaded_optimizer_misused.check(script(clip, mine))) == []
    later = call("clip_grad_norm_", line=9), call("CosineAnnealingLR", line=7)
    assert len(list(s131_offloaded_optimizer_misused.check(script(mine, *later)))) == 2


def test_weights_are_loaded_before_the_offloaded_optimizer_is_made():
    mine = call("CPUOffloadOptimizer", line=5)
    late, early = (call("load_state_dict", qualifier="model", line=line) for line in (6, 4))
    assert len(list(s131_offloaded_optimizer_misused.check(script(mine, late)))) == 1
    assert list(s131_offloaded_optimizer_misused.check(script(early, mine))) == []
    own = call("load_state_dict", qualifier="optimizer", line=6)
    assert list(s131_offloaded_optimizer_misused.check(script(mine, own))) == []
    whole = call("compile", qualifier="torch", line=1)
    (one,) = s131_offloaded_optimizer_misused.check(script(whole, mine))
    assert one.finding.severity == "warning"


@pytest.mark.parametrize(
    ("keys", "count"),
    [
        ({"optim_args": "rank=8,update_proj_gap=10"}, 1),
        ({"optim_args": "update_proj_gap=200"}, 0),
        ({"optim_args": {"update_proj_gap": 10}, "optim_args.update_proj_gap": 10}, 1),
        ({"galore_update_interval": 5}, 1),
    ],
)
def test_a_decomposition_every_few_steps_is_too_often(keys, count):
    assert len(found(s132_galore_settings, tool="llamafactory", keys=keys)) == count


@pytest.mark.parametrize(
    ("keys", "version", "count"),
    [
        ({"warmup_steps": 0.1}, (4, 57), 1),
        ({"warmup_steps": 0.1}, (5, 24), 0),
        ({"warmup_steps": 0.1}, None, 0),
        ({"warmup_steps": 100}, (4, 57), 0),
        ({"warmup_ratio": 500}, None, 1),
        ({"warmup_ratio": 0.1}, None, 0),
    ],
)
def test_a_share_and_a_number_of_steps_are_told_apart(keys, version, count):
    versions = {} if version is None else {"transformers": version}
    assert len(found(s135_share_read_as_steps, keys=keys, versions=versions)) == count


def test_a_warm_up_that_is_ignored_is_found_in_a_script_too():
    keys = {"SFTConfig.warmup_ratio": 0.03, "SFTConfig.lr_scheduler_type": "constant"}
    concepts = {"schedule": setting("SFTConfig.lr_scheduler_type", "constant")}
    (one,) = found(s107_warmup_ignored, tool="trl", keys=keys, concepts=concepts, syntax="python")
    assert one.key == "SFTConfig.warmup_ratio"


TRANSLATION = {
    "task": "translation",
    "batch_unit": "tokens",
    "micro_batch": 4096,
    "devices": 1,
    "accumulation": 4,
}


@pytest.mark.parametrize(
    ("change", "count"),
    [
        ({}, 0),
        ({"accumulation": 6}, 0),
        ({"accumulation": 8}, 1),
        ({"task": "language_model"}, 1),
        ({"batch_unit": "examples"}, 1),
    ],
)
def test_the_batch_of_the_transformer_paper_may_be_gathered_on_one_device(change, count):
    assert len(found(s116_accumulation_on_one_device, concepts=TRANSLATION | change)) == count


NOAM = {
    "clip": 0.0, "from_scratch": True, "optimizer": "adam", "schedule": "noam", "warmup_steps": 4000,
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "count"),
    [({}, 0), ({"schedule": "inverse_sqrt"}, 0), ({"warmup_steps": 500}, 1), ({"schedule": "linear"}, 1)],
)
def test_the_recipe_of_the_transformer_paper_needs_no_clipping(change, count):
    assert len(found(s124_no_clipping_from_scratch, concepts=NOAM | change)) == count
