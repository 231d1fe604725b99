from trimtab.config.load import load_recipe
from trimtab.translator.export_card import RECIPE


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


def test_the_recipe_in_the_folder_loads_again(exported_text):
    recipe = load_recipe(exported_text / RECIPE).recipe
    assert recipe.is_language_model
    assert recipe.data.train[0].text.endswith("train.txt")
