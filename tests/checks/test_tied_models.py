from tests.for_each import for_each
from trimtab.checks.description import Description
from trimtab.checks.document import Document
from trimtab.checks.place import Place
from trimtab.checks.setting import Setting
from trimtab.checks.tied_models import is_tied


def told(**concepts):
    place = Place("adapter_config.json")
    return Description(
        tool="peft",
        kind="peft-adapter",
        document=Document(path="adapter_config.json", syntax="json", text=""),
        concepts={name: Setting(key=name, value=value, place=place) for name, value in concepts.items()},
    )


@for_each("name", ["meta-llama/Llama-3.2-1B", "Qwen/Qwen2.5-0.5B", "Qwen/Qwen3-4B", "google/gemma-2-2b"])
def test_published_models_with_one_matrix_are_known(name):
    assert is_tied(told(model_name=name))


@for_each("name", ["meta-llama/Llama-3.1-8B", "Qwen/Qwen2.5-7B", "mistralai/Mistral-7B-v0.1", "mine"])
def test_other_models_are_not(name):
    assert not is_tied(told(model_name=name))


def test_a_config_beside_decides():
    assert not is_tied(told(model_name="Qwen/Qwen2.5-0.5B", tied_embeddings=False))
    assert is_tied(told(model_name="mine", tied_embeddings=True))
