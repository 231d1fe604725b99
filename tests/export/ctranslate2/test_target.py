"""What whoever has CTranslate2 and sentencepiece gets from the folder."""

import json
import shutil
import subprocess
import sys

import pytest

from tests.export.variants import variant
from tests.small_run import small_pairs
from trimtab import exporting
from trimtab.errors import InputError, RunFailed
from trimtab.evaluation.pairs import score
from trimtab.evaluation.translations import evaluate
from trimtab.export import write_export as module
from trimtab.export.byte_products import FULL, largest_weight
from trimtab.export.ctranslate2.target import CTranslate2, never_written, pieces_of
from trimtab.export.manifest import MANIFEST
from trimtab.export.quantized import Quantized
from trimtab.export.samples import SAMPLES, gate_lines
from trimtab.export.target import Target, TranslatesLines
from trimtab.export.targets import build_target
from trimtab.exporting import export_model
from trimtab.inference import load_model, load_translator, open_model

LINES = [source for source, _ in small_pairs(60, seed=9)]
LONG = " ".join(LINES[:12])


@pytest.fixture(scope="module")
def exported(trained_run, tmp_path_factory):
    out = tmp_path_factory.mktemp("exports") / "small_ct2"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(gate_lines.__kwdefaults__, "count", SAMPLES)  # as many as those of users
        return export_model(f"{trained_run}@last", to="ctranslate2", out=out)


@pytest.fixture(scope="module")
def folder(exported):
    return exported.folder


@pytest.mark.slow
def test_it_is_a_target_and_gives_what_can_be_compared(folder):
    assert isinstance(build_target("ctranslate2"), Target)
    assert isinstance(CTranslate2().as_users_open_it(folder), TranslatesLines)


def test_two_hundred_lines_pass_and_the_folder_is_whole(exported):
    assert exported.gate.passed
    assert 150 < exported.gate.lines <= 200
    assert sorted(each.name for each in exported.folder.iterdir()) == [
        "README.md",
        "config.json",
        "model.bin",
        "shared_vocabulary.json",
        "source.spm",
        "target.spm",
        "trimtab",
    ]
    card = (exported.folder / "README.md").read_text()
    assert card.startswith("---\nlibrary_name: ctranslate2\n")
    assert "min_decoding_length" in card


@pytest.mark.parametrize("beam", [1, 4])
def test_an_export_translates_every_line_as_its_run_does(trained_run, folder, beam):
    lines = [*LINES, "", "   ", LONG, "the </s> ship <pad>"]
    ours = load_translator(f"{trained_run}@last", beam=beam, device="cpu").translate(lines)
    theirs = load_translator(str(folder), beam=beam, device="cpu").translate(lines)
    assert theirs == ours
    assert len(set(ours)) > 5


def test_n_best_lists_have_the_texts_and_the_scores_of_the_run(trained_run, folder):
    both = [load_translator(each, beam=5, device="cpu") for each in (f"{trained_run}@last", str(folder))]
    ours, theirs = (each.n_best(LINES[:12], n=3) for each in both)
    for one, other in zip(ours, theirs, strict=True):
        assert [each.text for each in other] == [each.text for each in one]
        assert [each.score for each in other] == pytest.approx([each.score for each in one], abs=1e-4)


@pytest.mark.slow
def test_it_is_evaluated_and_scores_given_pairs_as_its_run_does(trained_run, folder):
    files = {"source": trained_run.parent / "dev.en", "reference": trained_run.parent / "dev.de"}
    ours, theirs = (evaluate(each, **files) for each in (f"{trained_run}@last", str(folder)))
    assert (theirs.bleu, theirs.chrf) == (ours.bleu, ours.chrf)
    assert theirs.loss == pytest.approx(ours.loss, abs=1e-5)
    sources, targets = zip(*small_pairs(20, seed=4), strict=True)
    scores = [
        list(score(each, sources, targets, device="cpu")) for each in (f"{trained_run}@last", str(folder))
    ]
    assert [each.log_probability for each in scores[1]] == pytest.approx(
        [each.log_probability for each in scores[0]], abs=1e-4
    )


@pytest.mark.slow
def test_the_code_of_the_model_card_runs_and_gives_the_trainers_text(trained_run, folder):
    code = CTranslate2().usage(folder.name, longest=24).replace("A line.", "the small ship turns")
    shown = subprocess.run(
        [sys.executable, "-c", code], cwd=folder.parent, capture_output=True, text=True, check=True
    ).stdout
    ours = load_translator(f"{trained_run}@last", device="cpu").translate(["the small ship turns"])
    assert shown.strip() == ours[0]


def test_the_code_of_the_model_card_writes_no_more_than_the_model_has_positions_for():
    code = CTranslate2().usage("mine", longest=24)
    most = next(line for line in code.splitlines() if line.startswith("most"))
    for count in (1, 6, 7, 500):
        known = {"pieces": [""] * count}
        exec(most, {}, known)
        assert known["most"] == min(2 * count + 11, 24)


def test_the_code_of_the_model_card_has_the_tags_as_pieces():
    assert 'pieces = ["<2de>"] + source.encode' in CTranslate2().usage("mine", tags=["<2de>"], longest=24)


def test_what_needs_the_scores_of_single_steps_is_refused_by_name(trained_run, folder):
    translator = load_translator(str(folder), device="cpu")
    for wanted in (
        lambda: translator.n_best(LINES[:2], n=1, prefixes="das"),
        lambda: load_translator([f"{trained_run}@last", str(folder)], device="cpu").translate(LINES[:2]),
    ):
        with pytest.raises(InputError, match="gives no scores of single steps"):
            wanted()


@pytest.mark.slow
def test_an_export_that_is_spoiled_leaves_no_folder(trained_run, tmp_path, monkeypatch):
    class Spoiling(CTranslate2):
        def write(self, model, folder):
            super().write(model, folder)
            config = json.loads((folder / "config.json").read_text())
            (folder / "config.json").write_text(json.dumps({**config, "layer_norm_epsilon": 0.1}))

    monkeypatch.setattr(exporting, "build_target", lambda *_: Spoiling())
    with pytest.raises(RunFailed, match="differs from the trainer; nothing was written"):
        export_model(str(trained_run), out=tmp_path / "ct2")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_quantised_export_is_held_to_the_stated_loss(trained_run, tmp_path, monkeypatch):
    report = export_model(
        f"{trained_run}@last", to="ctranslate2", out=tmp_path / "int8", quantized=Quantized(kind="int8")
    )
    assert report.gate.loss is not None
    assert report.gate.loss.chrf >= 90
    assert "lines changed" in report.render()
    assert "int8" in (tmp_path / "int8" / "README.md").read_text()
    assert json.loads((tmp_path / "int8" / "trimtab" / "gate.json").read_text())["loss"]["most"] == 10.0
    assert load_translator(str(tmp_path / "int8"), device="cpu").translate(["the old ship"]) != [""]
    size = [(each / "model.bin").stat().st_size for each in (tmp_path / "int8",)]
    assert size[0] < 60_000

    real = module.compare_translations

    def other_text(model, opened, lines, quantized):
        return real(variant(model, steps=3), opened, lines, quantized)

    monkeypatch.setattr(module, "compare_translations", other_text)
    with pytest.raises(RunFailed, match="keep more bits by another --quantization") as failed:
        export_model(
            f"{trained_run}@last", to="ctranslate2", out=tmp_path / "no", quantized=Quantized(kind="int8")
        )
    assert ("set CT2_USE_MKL=1" in str(failed.value)) == (largest_weight() < FULL)
    assert not (tmp_path / "no").exists()


def test_unknown_weights_are_wrong_input_with_those_that_there_are(trained_run, tmp_path):
    for kind in ("int4", "int16"):
        with pytest.raises(InputError, match=f"--quantization {kind}") as caught:
            export_model(
                str(trained_run), to="ctranslate2", out=tmp_path / "x", quantized=Quantized(kind=kind)
            )
        assert "bfloat16" in caught.value.problems[0].allowed
    with pytest.raises(InputError, match="an export for hf has no such weights"):
        export_model(str(trained_run), to="hf", out=tmp_path / "x", quantized=Quantized(kind="int8"))


def test_vocabularies_are_the_pieces_by_their_ids(trained_run):
    tokenizer = load_model(str(trained_run), device="cpu").tokenizer
    pieces = pieces_of(tokenizer)
    assert len(set(pieces)) == len(pieces) == tokenizer.num_ids
    assert pieces[tokenizer.end] == tokenizer.piece(tokenizer.end)
    assert tokenizer.end not in never_written(tokenizer)
    assert len(never_written(tokenizer)) == 3


def test_limits_speak_of_tags_and_of_rounding_only_where_it_applies(trained_run):
    model = load_model(str(trained_run), device="cpu")
    plain, rounded = (" ".join(CTranslate2(kind).limits(model)) for kind in ("float32", "int8"))
    assert "32 tokens" in plain
    assert "Tags are pieces" not in plain
    assert "The weights are" not in plain
    assert "The weights are int8" in rounded


@pytest.mark.parametrize("name", ["model.bin", "config.json"])
def test_another_file_than_that_which_was_proven_is_wrong_input(folder, tmp_path, name):
    copy = shutil.copytree(folder, tmp_path / "copy")
    content = (copy / name).read_bytes()
    (copy / name).write_bytes(content + b" ")
    with pytest.raises(InputError, match="not the weights that were exported"):
        open_model(str(copy))


def test_vocabularies_that_the_tokenizers_do_not_have_are_wrong_input(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    pieces = json.loads((copy / "shared_vocabulary.json").read_text())
    pieces[10], pieces[11] = pieces[11], pieces[10]
    (copy / "shared_vocabulary.json").write_text(json.dumps(pieces))
    with pytest.raises(InputError, match="vocabularies that differ"):
        open_model(str(copy))


def test_a_card_that_names_another_file_as_the_weights_is_wrong_input(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    card = json.loads((copy / MANIFEST).read_text())
    assert [each["file"] for each in (card["weights"], *card["others"])] == ["model.bin", "config.json"]
    (copy / MANIFEST).write_text(json.dumps({**card, "weights": card["others"][0]}))
    with pytest.raises(InputError, match=r"weights in config\.json"):
        open_model(str(copy))
    (copy / MANIFEST).write_text(json.dumps({**card, "others": "config.json"}))
    with pytest.raises(InputError, match="others that are no list of files"):
        open_model(str(copy))
