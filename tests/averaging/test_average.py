import json
import os
import shutil

import pytest
import torch
from safetensors.torch import load_file

import trimtab
from tests.averaging.made import made, variant
from tests.language_run import language_recipe
from trimtab.averaging.average import average
from trimtab.averaging.members import open_member
from trimtab.averaging.soup import greedy_soup
from trimtab.checkpoint.journal import read_journal
from trimtab.checkpoint.load import Checkpoint
from trimtab.checkpoint.step_folders import list_steps, step_name
from trimtab.errors import InputError
from trimtab.inference import load_model, load_translator
from trimtab.launch import train

pytestmark = pytest.mark.usefixtures("checks_of_data_only")


def weights(run, step):
    return load_file(run / "checkpoints" / step_name(step) / "model.safetensors")


def test_the_folder_holds_the_mean_and_is_used_like_a_run(run, tmp_path):
    report = average([f"{run}@20", f"{run}@40"], out=tmp_path / "mean")
    mean = weights(tmp_path / "mean", 40)
    for name, one in weights(run, 20).items():
        torch.testing.assert_close(
            mean[name], (one.double() + weights(run, 40)[name]).div(2).float(), rtol=0, atol=0
        )
    assert report.members == (f"{run}@20", f"{run}@40")
    assert len(load_translator(str(tmp_path / "mean"), beam=2).translate(["a b", "c"])) == 2


@pytest.mark.slow
def test_what_it_gained_is_the_loss_that_evaluation_finds(run, tmp_path):
    report = average([str(run)], out=tmp_path / "mean", last=2)
    losses = report.losses["valid"]
    assert list(losses) == [f"{run}@30", f"{run}@40", "average"]
    for spec, loss in losses.items():
        files = load_model(str(run)).recipe.data.valid["valid"]
        found = trimtab.evaluate(
            str(tmp_path / "mean") if spec == "average" else spec,
            source=files.source,
            reference=files.target,
            beam=1,
        )
        assert loss == pytest.approx(found.loss, rel=1e-6)
    assert "loss on valid:" in report.render()


@pytest.mark.slow
def test_other_first_weights_are_refused_unless_a_reason_is_given_which_stands_in_the_card(run, tmp_path):
    other = variant(tmp_path / "other", open_member(f"{run}@30"), lambda tensor: tensor)
    recipe = tmp_path / "other" / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("seed: 1", "seed: 2"))
    with pytest.raises(InputError, match="another first weights"):
        average([f"{run}@40", other], out=tmp_path / "mean")
    assert not (tmp_path / "mean").exists()
    report = average([f"{run}@40", other], out=tmp_path / "mean", across_starts="the seed was renamed")
    assert report.notes == (
        f"{other}@30 and {run}@40 cannot be averaged: another first weights, averaged anyway: "
        "the seed was renamed",
    )
    assert "the seed was renamed" in (tmp_path / "mean" / "README.md").read_text()
    assert f"note: {report.notes[0]}" in report.render()


@pytest.mark.quick("average")
@pytest.mark.parametrize("how", [average, greedy_soup])
def test_a_run_with_fewer_checkpoints_than_the_last_that_are_asked_for_is_a_note(run, tmp_path, how):
    report = how([str(run)], out=tmp_path / "mean", last=99)
    (note,) = report.notes
    assert "last 99 checkpoints were asked for, and 4 are there" in note
    assert f"note: {note}" in report.render()
    assert how([str(run)], out=tmp_path / "all", last=4).notes == ()


def test_another_model_leaves_no_folder(run, tmp_path):
    other = made(tmp_path / "other", **{"model.feed_forward": 40})
    with pytest.raises(InputError, match="another model"):
        average([f"{run}@40", other.label], out=tmp_path / "mean")
    assert not (tmp_path / "mean").exists()


@pytest.mark.slow
def test_the_moving_average_of_one_checkpoint_is_compared_with_its_weights(run, tmp_path):
    report = average([f"{run}@40"], ema=True, out=tmp_path / "mean", metric="loss")
    means = Checkpoint.load_optimizer(open_member(f"{run}@40").checkpoint, prefix="ema.weights.")
    written = weights(tmp_path / "mean", 40)
    assert all(torch.equal(written[name], means[f"ema.weights.{name}"]) for name in written)
    assert (report.kind, report.members) == ("moving average", (f"{run}@40:ema",))
    assert list(report.comparison.scores) == [f"{run}@40", "average"]
    assert torch.equal(
        load_model(f"{run}@40:ema", device="cpu").model.output_matrix,
        load_model(str(tmp_path / "mean"), device="cpu").model.output_matrix,
    )


@pytest.mark.slow
def test_the_measure_of_the_run_is_given_beside_the_best_single_one_printed_and_in_the_card(run, tmp_path):
    report = average([f"{run}@20", f"{run}@30"], out=tmp_path / "mean")
    compared = report.comparison
    assert (compared.metric, compared.set, compared.how) == ("chrf", "valid", "24 lines, beam 1")
    assert list(compared.scores) == [f"{run}@20", f"{run}@30", f"{run}@40", "average"], "the run's best too"
    singles = {label: score for label, score in compared.scores.items() if label != "average"}
    assert compared.scores[compared.best_single] == max(singles.values())
    assert compared.gain == pytest.approx(compared.scores["average"] - max(singles.values()))
    card = (tmp_path / "mean" / "README.md").read_text()
    assert f"| {run}@40 |" in card
    assert f"against the best single one, {compared.best_single}" in card
    assert f"against the best single one, {compared.best_single}" in report.render()
    assert json.loads((tmp_path / "mean" / "average.json").read_text()) == report.to_dict()
    (evaluation,) = read_journal(tmp_path / "mean" / "evaluations.jsonl")
    assert evaluation["chrf"] == compared.scores["average"]
    assert evaluation["step"] == 30


def test_a_folder_that_holds_a_run_is_not_touched(run):
    before = weights(run, 40)
    with pytest.raises(InputError):
        average([f"{run}@20", f"{run}@40"], out=run)
    assert all(torch.equal(tensor, before[name]) for name, tensor in weights(run, 40).items())


@pytest.mark.slow
def test_a_mean_cannot_be_resumed(run, tmp_path):
    average([f"{run}@20", f"{run}@40"], out=tmp_path / "mean")
    recipe = tmp_path / "mean" / "recipe.yaml"
    with pytest.raises(InputError, match="averaged has changed"):
        train(recipe, out=tmp_path / "mean", resume=True)


def test_sets_that_are_gone_are_said_and_the_mean_stays(run, tmp_path):
    shutil.copytree(run, tmp_path / "run")
    recipe = (tmp_path / "run" / "recipe.yaml").read_text()
    files = load_model(str(run)).recipe.data.valid["valid"]
    (tmp_path / "run" / "recipe.yaml").write_text(recipe.replace(files.source, files.source + ".gone"))
    report = average([str(tmp_path / "run")], out=tmp_path / "mean", last=2)
    assert report.losses == {}
    assert "no such file" in report.render()
    assert (tmp_path / "mean" / "checkpoints").is_dir()


@pytest.mark.parametrize("kind", ["pipe", "link", "brackets"])
def test_a_tokenizer_that_is_no_plain_files_leaves_no_folder(run, tmp_path, kind):
    copy = shutil.copytree(run, tmp_path / "run")
    card = copy / "tokenizer" / "tokenizer.json"
    card.unlink()
    match kind:
        case "pipe":
            os.mkfifo(card)
        case "link":
            card.symlink_to(run / "tokenizer" / "tokenizer.json")
        case _:
            card.write_text("[" * 100_000)
    with pytest.raises(InputError, match=r"tokenizer\.json"):
        average([f"{copy}@20", f"{copy}@40"], out=tmp_path / "mean")
    assert not (tmp_path / "mean").exists()


def test_a_mean_that_is_not_finite_is_refused_and_leaves_no_folder(run, tmp_path, monkeypatch):
    real = Checkpoint.load_model

    def spoiled(self):
        tensors = real(self)
        if self.step == 20:
            tensors["embedding.weight"][0, 0] = float("nan")
        return tensors

    monkeypatch.setattr(Checkpoint, "load_model", spoiled)
    with pytest.raises(InputError, match=r"not finite[\s\S]*in 1 of \d+ tensors, such as embedding\.weight"):
        average([f"{run}@20", f"{run}@40"], out=tmp_path / "mean")
    assert not (tmp_path / "mean").exists()


@pytest.fixture(scope="module")
def text_run(own_cache, tmp_path_factory):
    """A language model of texts with checkpoints at steps 10 and 20."""
    folder = tmp_path_factory.mktemp("texts")
    return train(language_recipe(folder), out=folder / "run").run


@pytest.mark.slow
def test_of_a_language_model_it_says_what_was_gained_on_the_validation_texts(text_run, tmp_path):
    specs = [f"{text_run}@10", f"{text_run}@20"]
    report = average(specs, out=tmp_path / "mean")
    text = text_run.parent / "dev.txt"
    for label, spec in zip((*specs, "average"), (*specs, str(tmp_path / "mean")), strict=True):
        found = trimtab.evaluate_text(spec, text=text)
        follows = report.perplexities["valid"][label]
        assert report.losses["valid"][label] == pytest.approx(found.loss, rel=1e-6)
        assert follows["perplexity"] == pytest.approx(found.perplexity, rel=1e-6)
        assert follows["bits_per_byte"] == pytest.approx(found.bits_per_byte, rel=1e-6)
        told = f"perplexity {found.perplexity:.2f}, {found.bits_per_byte:.4f} bits per byte"
        assert f"  {label}" in report.render()
        assert told in report.render()
    card = (tmp_path / "mean" / "README.md").read_text()
    assert "| weights | loss, valid | perplexity, valid | bits per byte, valid |" in card
    assert "(loss on valid, 6 documents)" in card
    assert "`trimtab generate`" in card
    assert "translate" not in card.split("## Use")[1]
    (evaluation,) = read_journal(tmp_path / "mean" / "evaluations.jsonl")
    assert evaluation["bits_per_byte"] == report.perplexities["valid"]["average"]["bits_per_byte"]
    assert json.loads((tmp_path / "mean" / "average.json").read_text()) == report.to_dict()


@pytest.mark.slow
def test_a_measure_of_translations_is_refused_for_texts_before_anything_is_made(text_run, tmp_path):
    specs = [f"{text_run}@{step}" for step in list_steps(text_run / "checkpoints")]
    for make in (average, greedy_soup):
        with pytest.raises(InputError, match="--metric bleu: a metric of translations"):
            make(specs, out=tmp_path / "mean", metric="bleu")
    assert not (tmp_path / "mean").exists()


@pytest.mark.slow
def test_the_mean_of_a_language_model_has_its_scores_in_the_card_of_an_export(text_run, tmp_path):
    average([f"{text_run}@10", f"{text_run}@20"], out=tmp_path / "mean")
    out = trimtab.export_model(str(tmp_path / "mean"), out=tmp_path / "hf").folder
    scores = (out / "README.md").read_text().split("## Scores")[1].split("## Proof")[0]
    assert "| valid | bits_per_byte |" in scores
