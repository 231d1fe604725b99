from pathlib import Path

from trimtab.config.load import load_recipe
from trimtab.export.card import way_to_use
from trimtab.export.manifest import RECIPE

RECIPES = Path(__file__).parents[2] / "recipes"


def test_the_card_says_what_it_is_what_it_read_and_what_it_scored(exported_text):
    card = (exported_text / "README.md").read_text(encoding="utf-8")
    for words in (
        "pipeline_tag: text-generation",
        "2 layers, 310 ids, a window of 48 tokens",
        "train.txt",
        "| perplexity |",
        "bits per byte",
        "logits differ by at most",
        "trimtab generate text_hf --prompt Once",
        "## Limits",
    ):
        assert words in card


def test_the_recipe_in_the_card_names_each_text_once(exported_text):
    recipe = (exported_text / "README.md").read_text(encoding="utf-8").split("## Recipe")[1]
    named = [line.strip(" -") for line in recipe.splitlines() if ".txt" in line]
    assert [line.split(":")[0] for line in named] == ["text", "text"]
    assert [line.endswith(name) for line, name in zip(named, ("train.txt", "dev.txt"), strict=True)] == [
        True
    ] * 2


def test_a_model_of_pairs_alone_is_not_sent_to_generate():
    texts, pairs = (
        way_to_use(load_recipe(RECIPES / name).recipe, "folder")
        for name in ("lm_demo.yaml", "en_de_decoder.yaml")
    )
    assert texts == "Or `trimtab generate folder --prompt Once`."
    assert "generate" not in pairs
    assert "must end with that symbol" in pairs


def test_the_recipe_in_the_folder_loads_again(exported_text):
    recipe = load_recipe(exported_text / RECIPE).recipe
    assert recipe.facts.continues_texts
    assert recipe.data.train[0].text.endswith("train.txt")
