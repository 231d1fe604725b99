import json
from pathlib import Path

from trimtab.averaging.card import FIGURES, README, card, commands, write_card
from trimtab.averaging.report import AverageReport, Comparison, Tried
from trimtab.checkpoint.journal import read_journal
from trimtab.config.load import load_recipe

RECIPES = Path(__file__).parents[2] / "recipes"
COMMANDS = ("translate", "evaluate", "score", "export")


def report(folder, **changes):
    compared = Comparison(
        metric="chrf",
        set="dev",
        how="500 lines, beam 1",
        signature="nrefs:1",
        lower_is_better=False,
        scores={"run|x@1": 40.0, "average": 41.5},
    )
    losses = {"dev": {"run|x@1": 2.0, "average": 1.5}, "other": {"run|x@1": None, "average": 1.0}}
    return AverageReport(folder, ("run|x@1",), losses, **{"comparison": compared, **changes})


def test_the_card_has_every_weight_with_its_losses_and_score(tmp_path):
    text = card(report(tmp_path / "mean"), commands=COMMANDS)
    assert text.startswith("# mean\n")
    assert "+1.50 against the best single one, run|x@1 (chrf on dev, 500 lines, beam 1)." in text
    assert "| weights | loss, dev | loss, other | chrf, dev |" in text
    assert "| run\\|x@1 | 2.0000 | none | 40.00 |" in text
    assert "| average | 1.5000 | 1.0000 | 41.50 |" in text
    assert "Signature: `nrefs:1`" in text


def test_what_was_not_measured_and_what_was_tried_stand_in_it(tmp_path):
    tried = (Tried(label="a@1", score=3.0, with_it=None, taken=False),)
    made = report(tmp_path, comparison=None, unread="dev.en is\ngone", tried=tried, notes=("why\nso",))
    text = card(made, commands=COMMANDS)
    assert "Not measured: dev.en is\\ngone." in text
    assert "| a@1 | 3.00 | none | no |" in text
    assert "- why\\nso" in text


def test_programs_and_later_exports_find_the_figures(tmp_path):
    made = report(tmp_path)
    write_card(made, step=7, recipe=load_recipe(RECIPES / "en_de.yaml").recipe)
    assert (tmp_path / README).read_text() == card(made, commands=COMMANDS)
    assert json.loads((tmp_path / FIGURES).read_text()) == made.to_dict()
    first, second = read_journal(tmp_path / "evaluations.jsonl")
    assert first == {
        "step": 7,
        "set": "dev",
        "loss": 1.5,
        "chrf": 41.5,
        "chrf_signature": "nrefs:1",
        "lines": 500,
    }
    assert second == {"step": 7, "set": "other", "loss": 1.0}


def test_the_card_names_the_commands_that_take_such_a_model(tmp_path):
    named = {
        name: commands(load_recipe(RECIPES / f"{name}.yaml").recipe)
        for name in ("en_de", "en_de_decoder", "lm_demo")
    }
    assert named["en_de"] == named["en_de_decoder"] == COMMANDS
    assert named["lm_demo"] == ("generate", "evaluate", "export")
    text = card(report(tmp_path), commands=named["lm_demo"])
    assert "`trimtab generate`, `evaluate` and `export` among them" in text


def test_a_language_model_has_its_perplexity_and_bits_in_columns(tmp_path):
    follows = {"perplexity": 7.389, "byte_perplexity": 1.5, "bits_per_byte": 0.58496}
    made = report(
        tmp_path,
        comparison=Comparison(
            metric="loss",
            set="dev",
            how="6 documents",
            signature="",
            lower_is_better=True,
            scores={"run|x@1": 2.0, "average": 1.99},
        ),
        perplexities={"dev": {"run|x@1": {}, "average": follows}},
    )
    text = card(made, commands=COMMANDS)
    assert "+0.0100 against the best single one, run|x@1 (loss on dev, 6 documents)." in text
    assert "| weights | loss, dev | perplexity, dev | bits per byte, dev | loss, other |" in text
    assert "| average | 1.5000 | 7.39 | 0.5850 | 1.0000 |" in text
    assert "| run\\|x@1 | 2.0000 | none | none | none |" in text
