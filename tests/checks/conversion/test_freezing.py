from tests.checks.conversion.made import made
from tests.for_each import for_each
from trimtab.checks.conversion.freezing import frozen_in

LOOP = "for p in {part}.parameters():\n    p.requires_grad = False\n"
LAYERS = """
for layer in model.bert.encoder.layer[{which}]:
    for p in layer.parameters():
        p.requires_grad = False
"""
SCRIPT = """
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("a/b")
args = TrainingArguments(output_dir="out", learning_rate=2e-5, num_train_epochs=2)
"""


@for_each(
    ("script", "patterns"),
    [
        (LOOP.format(part="model.bert.embeddings"), ["bert.embeddings.*"]),
        ("model.transformer.wte.requires_grad_(False)", ["transformer.wte.*"]),
        ("model.bert.encoder.layer[3].requires_grad_(False)", ["bert.encoder.layer.3.*"]),
        (LAYERS.format(which=":8"), ["bert.encoder.layer.[0-7].*"]),
        (LAYERS.format(which="9:11"), ["bert.encoder.layer.9.*", "bert.encoder.layer.10.*"]),
        (f"def main():\n    {LOOP.format(part='model.bert.pooler').replace(chr(10), chr(10) + '    ')}",
         ["bert.pooler.*"]),
        ("model.requires_grad_(True)", []),
        ("for p in model.parameters():\n    p.requires_grad = True", []),
        ("for p in model.parameters():\n    if p.ndim > 1:\n        p.requires_grad = False", []),
        ("not python (", []),
    ],
)  # fmt: skip
def test_parts_that_are_frozen_become_patterns(script, patterns):
    found = frozen_in(script)
    assert (found.patterns, found.unread) == (patterns, [])


@for_each(
    "script",
    [
        LOOP.format(part="model.base_model"),
        "for name, p in model.named_parameters():\n    if 'head' not in name:\n        p.requires_grad = False",
        LAYERS.format(which=":n"),
        "get().requires_grad_(False)",
    ],
)
def test_what_only_running_it_shows_is_named_by_its_line(script):
    found = frozen_in(script)
    assert not found.patterns
    assert len(found.unread) == 1


def test_a_language_model_says_what_is_frozen_there():
    notes = made(SCRIPT + LOOP.format(part="model.transformer.wte"), "train.py").notes
    assert any("transformer.wte.* are frozen there" in note for note in notes)
