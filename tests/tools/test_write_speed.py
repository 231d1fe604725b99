import importlib.util
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "write_speed.py"


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("write_speed", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def result(arms, **more):
    about = {
        "card": "A card",
        "cores": 16,
        "torch": "2",
        "commit": "0123456789abcdef",
        "command": "python it.py",
    }
    return {**about, "arms": arms, "failed": [], **more}


def arm(rate, **more):
    return {"tokens_per_second": rate, "each": [rate - 1000, rate, rate + 1000], **more}


def row(text, begin):
    (line,) = [line for line in text.splitlines() if line.startswith(f"| {begin} |")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_preset_is_compared_with_the_better_of_the_peers(tool):
    arms = {
        "base trimtab": arm(1_200_000, data_wait=0.012),
        "base hf": arm(100_000, batch=256),
        "base hf_grouped": arm(300_000, batch=512),
    }
    cells = row(tool.page({"translation_speed": [result(arms)]}), "base")
    assert cells[1:3] == ["1.20M (1.20M to 1.20M)", "1.2%"]
    assert cells[4] == "300k (299k to 301k), batches of 512"
    assert cells[-1] == "4.0"


def test_a_missing_arm_leaves_its_cell_empty_and_says_why(tool):
    failed = [{"arm": "base hf_grouped", "error": "OutOfMemoryError: much\n too much"}]
    text = tool.page(
        {"translation_speed": [result({"base trimtab": arm(5e5)}, failed=failed, transformers="5")]}
    )
    assert row(text, "base")[3:] == ["", "", "", ""]
    assert "- base hf_grouped gave nothing: OutOfMemoryError: much too much" in text
    assert "A card, 16 cores; torch 2, transformers 5; commit 0123456789." in text


def test_a_race_shows_both_scores_with_their_times(tool):
    arms = {
        "training": {"race_seconds": 89.7},
        "prose": {"BLEU": {"value": 28.04}, "chrF": {"value": 55.06}, "lines": 1813},
    }
    scores = {"prose": {"BLEU": 27.26, "chrF": 54.59}, "ui": {"BLEU": 1, "chrF": 1}}
    peer = {"card": "another card", "training_seconds": 306.6, "scores": scores}
    text = tool.page({"quality_race": [result(arms, peer=peer)]})
    found = row(text, "prose (1,813)")
    assert found[1:] == ["28.0 / 55.1", "90 s", "27.3 / 54.6", "307 s (another card)"]
    assert "| ui" not in text


def test_engines_precisions_and_workers_have_rows(tool):
    engine = {"sentences_per_second": 900.4, "first_seconds": 20.0}
    engine |= {"BLEU": 30.0, "chrF": 55.0, "setting": "512:True"}
    beam = result(
        {"trimtab": {**engine, "wall_seconds": 2.0}, "hf": {**engine, "wall_seconds": 12.0}},
        lines=1813,
        beam=4,
        times_as_fast={"hf": 6.0},
    )
    losses = {"mean_of_last_20_losses": 5.25, "valid_loss": {"prose": 5.5}, "peak_gib": 4.5}
    precision = result(
        {"fp32": arm(9e4, **losses), "deterministic": arm(8e4, same_bits_twice=False, **losses)},
        steps=150,
        preset="base",
    )
    pipeline = result(
        {"plain, 0 workers": arm(4e5), "plain, 8 workers": arm(3e6), "online, 8 workers": arm(2e6)},
        times_the_need={"plain": 2.5, "online": 1.7},
    )
    text = tool.page({"beam_speed": [beam], "precision_table": [precision], "data_pipeline": [pipeline]})
    assert row(text, "hf") == ["hf", "12.00", "20.00", "900", "30.0 / 55.0", "6.0", "512:True"]
    assert row(text, "fp32")[1:] == ["5.2500", "prose 5.5000", "90k (89k to 91k)", "4.5"]
    assert row(text, "deterministic, other bits the second time")
    assert row(text, "plain") == ["plain", "400k", "3.00M", "2.5"]
    assert row(text, "online") == ["online", "", "2.00M", "1.7"]


def test_language_models_and_losses_have_rows(tool):
    share = {
        "parameters": 341_099_520,
        "percent_of_peak": 45.11,
        "tokens_per_second": 190_003,
        "step_ms": 344.99,
    }
    share |= {"step_ms_of_repetitions": [334.73, 347.4], "peak_gib": 34.5}
    speed = result(
        {"base trimtab flash4": share}, length=2048, tokens_per_step=65536, formula="6 * parameters"
    )
    loss = {"ms": 8.349, "workspace_mib": 1702.5, "error": 0.003342, "smoothing": 0.0}
    losses = result({"16384x1024x32000 trimtab": loss})
    text = tool.page({"lm_speed": [speed], "loss_kernels": [losses]})
    found = ["341M", "trimtab, FlashAttention-4 installed", "45.1%", "190,003", "345 (335, 347)", "34.5"]
    assert row(text, "341M") == found
    found = ["trimtab, no smoothing", "8.35", "1,702", "0.0033"]
    assert row(text, "16384 x 1024 x 32000")[1:] == found


def test_the_code_that_was_measured_is_told_as_exactly_as_it_is_known(tool):
    told = [
        line
        for commit in ("12ea0172be64d1f9 and changes", "12ea0172be64d1f9")
        for line in tool.source_of(result({}, commit=commit))
    ]
    assert told[0].endswith("commit 12ea0172be and changes.")
    assert told[2].endswith("commit 12ea0172be.")


def test_each_form_of_a_model_has_a_row_and_each_export_its_proof(tool):
    arm = {
        "search": "exact",
        "tokens_per_second": 1234.4,
        "each": [1200.0, 1234.4, 1300.0],
        "lines_per_second": 80.04,
        "load_seconds": 0.31,
        "floor_mib": 312.2,
        "loaded_mib": 334.4,
        "peak_mib": 450.5,
        "disk_mib": 11.2,
        "cores_used_by_others": 0.04,
        "BLEU": {"value": 28.05, "signature": "nrefs:1"},
        "chrF": {"value": 54.75, "signature": "nrefs:1"},
        "setting": "default",
    }
    gate = {"lines": 196, "worst_token": 8e-6, "translated_otherwise": 0, "loss": None}
    rounded = {**gate, "worst_token": 0.28, "loss": {"chrf": 95.57, "changed": 0.138}}
    made = result(
        {
            "pytorch": {**arm, "unlike_pytorch": 0.0},
            "onnx": {**arm, "cores_used_by_others": 1.6},
            "generate early": {**arm, "search": "enough", "setting": "32", "unlike_pytorch": 0.125},
        },
        model={"preset": "tiny", "parameters": 2_851_584, "vocabulary": 4000},
        lines=466,
        beam=4,
        threads=2,
        processor="A processor",
        exports={"onnx_float32": gate, "onnx_int8": rounded},
    )
    text = tool.page({"formats_on_cpu": [made]})
    cells = row(text, "pytorch")
    assert cells[2:7] == [
        "1,234 (1,200 to 1,300)",
        "80.0",
        "0.3 s",
        "312, 334, 450 MiB",
        "11.2 MiB",
    ]
    assert cells[7:] == ["28.1 / 54.8", "0.0%", "default"]
    assert row(text, "onnx")[2:6] == ["machine busy", "", "", "312, 334, 450 MiB"]
    assert row(text, "generate early")[8:] == ["12.5%", "32"]
    assert (
        "onnx_float32: on 196 lines a token's log-probability differs by 8e-06; beam search changes 0" in text
    )
    assert "chrF 95.6 against the trainer's text, 13.8% of the lines changed" in text
    assert "Other programs used 0.0 to 1.6 of the 16 cores" in text
    assert "A processor, 16 cores; torch 2; commit" in text


def test_each_kind_of_weights_has_its_mean_over_the_seeds_and_its_gain(tool):
    def told(mean, gain):
        each = {"mean": mean, "min": mean - 0.5, "max": mean + 0.5}
        return each | {"against single best": {"mean": gain, "min": gain - 0.25, "max": gain + 0.25}}

    spread = {"last 5": {"bleu": told(30.0, 0.5), "chrf": told(55.0, -0.25), "loss": told(2.0, 0.0)}}
    about = {"set": "prose", "beam": 4, "spread": spread, "side_by_side": False}
    arms = {"seed 1": {}, "seed 2": {}}
    text = tool.page({"averaging": [result(arms, training_steps=2000, **about)]})
    assert row(text, "last 5")[1:] == [
        "30.0 (29.5 to 30.5)",
        "+0.50 (+0.25 to +0.75)",
        "55.0 (54.5 to 55.5)",
        "-0.25 (-0.50 to +0.00)",
        "2.0000 (1.5000 to 2.5000)",
        "+0.0000 (-0.2500 to +0.2500)",
    ]
    assert "prose dev lines, beam 4; 2,000 steps of training, 2 seeds:" in text
    in_time = tool.page({"averaging": [result({"seed 1": {}}, training_seconds=60.0, **about)]})
    assert "60 s of training, 1 seed:" in in_time


@pytest.mark.parametrize("together", [True, False])
def test_speeds_of_models_that_shared_a_card_are_not_told(tool, together):
    scored = {"BLEU": {"value": 30.04}, "chrF": {"value": 55.06}, "loss": 2.00004}
    arm = {
        "kind": "encoder_decoder",
        "seed": 1,
        "parameters": 52_332_544,
        "steps": 1831,
        "tokens": 60_000_000,
    }
    arm |= {"sets": {"prose": scored}} | ({} if together else {"tokens_per_second": 123_456})
    text = tool.page({"decoder_only_translation": [result({"one": arm}, side_by_side=together, beam=4)]})
    cells = ["1", "52.33M", "60.0M", "1,831", *([] if together else ["123k"]), "30.0 / 55.1, 2.0000"]
    assert row(text, "encoder-decoder")[1:] == cells
    assert ("nothing is said of speed" in text) is together


def test_a_language_model_is_told_with_its_texts_as_they_are(tool):
    training = {"parameters": 36e6, "tokens": 32e6, "training_seconds": 41.6, "tokens_per_second": 770_000}
    valid = {
        "tokens": 270_000,
        "bytes": 1_200_000,
        "perplexity": 20.004,
        "byte_perplexity": 2.0,
        "bits_per_byte": 1,
    }
    written = {"prompt": "The kernel", "text": " is *not*\n a <tag>" + " word" * 80}
    texts = {"temperature": 0.8, "top_p": 0.95, "texts": [written]}
    arms = {"training": training, "valid": {"sets": {"valid": valid}}, "texts": texts}
    text = tool.page({"lm_quality": [result(arms)]})
    assert "36.0M parameters, 32.0M tokens in 42 s of training, compiling within them: 770k tokens/s." in text
    assert row(text, "valid")[1:] == ["270,000", "1,200,000", "20.00", "2.0000", "1.0000"]
    (line,) = [line for line in text.splitlines() if line.startswith("- **The kernel**")]
    assert line.startswith(r"- **The kernel** is \*not\* a \<tag\> word")
    assert line.endswith(" word ...")
    assert tool.page({"lm_quality": [result({})]}).count("A card") == 1


def test_without_results_nothing_is_claimed(tool):
    text = tool.page({})
    assert text.count("Not measured yet") == len(tool.QUESTIONS)
    assert not [line for line in text.splitlines() if line.startswith("|")]


def test_results_of_several_runs_of_a_script_stand_one_after_another(tool, tmp_path):
    for name in ("data_pipeline", "data_pipeline_again", "formats_base", "formats_demo"):
        (tmp_path / f"{name}.json").write_text("{}")
    assert len(tool.recorded(tmp_path)["data_pipeline"]) == 2
    assert len(tool.recorded(tmp_path)["formats_on_cpu"]) == 2


def test_the_page_in_the_documentation_is_the_one_that_is_written(tool):
    assert tool.PAGE.read_text(encoding="utf-8") == tool.page(tool.recorded(tool.RESULTS))
