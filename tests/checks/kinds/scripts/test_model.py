from tests.for_each import for_each
from trimtab.checks.kinds.scripts.model import is_model


@for_each(
    ("name", "is_one"),
    [
        ("AutoModelForCausalLM", True),
        ("transformers.MarianMTModel", True),
        ("T5ForConditionalGeneration", True),
        ("AutoTokenizer", False),
        ("AutoProcessor", False),
        ("AutoConfig", False),
        ("PeftModel", False),
        ("", False),
    ],
)
def test_models_are_known_by_their_names(name, is_one):
    assert is_model(name) is is_one
