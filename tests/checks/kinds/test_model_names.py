from tests.for_each import for_each
from trimtab.checks.kinds.model_names import billions_of, family_of


@for_each(
    ("name", "billions"),
    [
        ("meta-llama/Llama-2-7b-hf", 7.0),
        ("Qwen/Qwen2.5-0.5B-Instruct", 0.5),
        ("facebook/opt-350m", 0.35),
        ("facebook/nllb-200-distilled-600M", 0.6),
        ("Qwen/Qwen3-30B-A3B", 30.0),
        ("mistralai/Mixtral-8x7B-v0.1", None),
        ("stabilityai/stablelm-2-1_6b", 1.6),
        ("meta-llama/Llama-4-Scout-17B-16E", None),
        ("./checkpoint-500", None),
        ("google-t5/t5-small", None),
        ("", None),
    ],
)
def test_a_name_says_its_size_or_nothing(name, billions):
    assert billions_of(name) == billions


@for_each(
    ("name", "family"),
    [
        ("t5-small", "t5"),
        ("google/mt5-base", "mt5"),
        ("Helsinki-NLP/opus-mt-en-de", "marian"),
        ("facebook/nllb-200-3.3B", "m2m_100"),
        ("microsoft/trocr-base-printed", "trocr"),
        ("google/gemma-2-2b-it", "gemma2"),
        ("google/gemma-7b", "gemma"),
        ("google/gemma-3-4b-it", None),
        ("Qwen/Qwen2.5-7B", "qwen2"),
        ("someone/my-t5-small", None),
        ("/models/llama", None),
    ],
)
def test_only_names_of_the_makers_say_the_family(name, family):
    assert family_of(name) == family
