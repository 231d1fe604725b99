from textwrap import indent

from tests.checks.conversion.made import made
from tests.for_each import for_each
from tests.pretrained_folder import pretrained_folder
from trimtab.checks.conversion.freezing import Frozen, frozen_in
from trimtab.config.decoder_model import DecoderModel
from trimtab.config.load import parse_recipe
from trimtab.config.pretrained.map_names import own_patterns
from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.freeze import matched
from trimtab.model.pretrained import named_rows

LOOP = "for p in {part}.parameters():\n    p.requires_grad = False\n"
LAYERS = """
for layer in model.bert.encoder.layer[{which}]:
    for p in layer.parameters():
        p.requires_grad = False
"""
LOADED = 'model = AutoModelForSequenceClassification.from_pretrained("a/b")\n'
ALL = "for p in model.parameters():\n    p.requires_grad = False\n"
HEAD = "for p in model.classifier.parameters():\n    p.requires_grad = True\n"
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
        (f"def main():\n{indent(LOOP.format(part='model.bert.pooler'), '    ')}main()\n", ["bert.pooler.*"]),
        ("model.requires_grad_(True)", []),
        ("for p in model.parameters():\n    p.requires_grad = True", []),
        ("not python (", []),
        (ALL, ["*"]),
        ("model.bert.pooler.dense.weight.requires_grad_(False)", ["bert.pooler.dense.weight"]),
        ("for name, p in model.bert.named_parameters():\n    p.requires_grad_(False)", ["bert.*"]),
        ("encoder = model.bert.encoder\nencoder.requires_grad_(False)", ["bert.encoder.*"]),
        ("model = model.to(device)\nmodel = prepare(model)\nmodel.bert.eval().requires_grad_(False)", ["bert.*"]),
        ("for part in [model.bert.embeddings, *model.bert.encoder.layer[:2]]:\n"
         "    for p in part.parameters():\n        p.requires_grad = False\n",
         ["bert.embeddings.*", "bert.encoder.layer.[0-1].*"]),
        ("parts = [model.classifier, model.bert.pooler]\nfor part in parts:\n    part.requires_grad_(False)",
         ["classifier.*", "bert.pooler.*"]),
        ("for layer in model.bert.encoder.layer:\n    layer.attention.requires_grad_(False)",
         ["bert.encoder.layer.*.attention.*"]),
        (LAYERS.format(which=":4") + "model.bert.encoder.layer[3].requires_grad_()",
         ["bert.encoder.layer.[0-2].*"]),
        (ALL + "model.requires_grad_(True)\nmodel.bert.requires_grad_(False)", ["bert.*"]),
        ("model.bert.requires_grad_(False)\n" + HEAD, ["bert.*"]),
        ("model.bert.requires_grad_(False)\nmodel.classifier = nn.Linear(8, 2)", ["bert.*"]),
    ],
)  # fmt: skip
def test_parts_that_are_frozen_become_patterns(script, patterns):
    found = frozen_in(LOADED + script)
    assert (found.patterns, found.unread) == (patterns, [])


@for_each(
    "script",
    [
        LOOP.format(part="model.base_model"),
        "for name, p in model.named_parameters():\n    if 'head' not in name:\n        p.requires_grad = False",
        LAYERS.format(which=":n"),
        "get().requires_grad_(False)",
        "for p in model.parameters():\n    if p.ndim > 1:\n        p.requires_grad = False",
        "model.bert.requires_grad_(args.train)",
        "for p in model.bert.parameters():\n    p.requires_grad = not args.freeze",
        "model.bert.embeddings.word_embeddings.weight.requires_grad = False",
        "[p.requires_grad_(False) for p in model.parameters()]",
        LOOP.format(part="teacher"),
        "encoder = load().bert\n" + LOOP.format(part="encoder"),
        "if args.freeze:\n" + indent(LOOP.format(part="model.bert"), "    "),
        f"def freeze():\n{indent(LOOP.format(part='model.bert'), '    ')}if args.freeze:\n    freeze()",
        "class Net(nn.Module):\n    def __init__(self):\n        self.bert.requires_grad_(False)",
    ],
)
def test_what_only_running_it_shows_is_named_by_its_line(script):
    found = frozen_in(LOADED + script)
    assert not found.patterns
    assert len(found.unread) == 1


@for_each(
    ("script", "unread"),
    [
        (ALL + HEAD, [2, 4]),
        ("model.requires_grad_(False)\nmodel.classifier.requires_grad_(True)", [2, 3]),
        (ALL + "for name, p in model.named_parameters():\n    if 'classifier' in name:\n"
         "        p.requires_grad = True", [2, 6]),
        (ALL + "model.config.use_cache = read()\nmodel.classifier = nn.Linear(8, 2)", [2, 5]),
        ("model.bert.requires_grad_(False)\nmodel.bert.encoder.layer[-1].requires_grad_(True)", [2, 3]),
        ("for layer in model.bert.encoder.layer:\n    layer.requires_grad_(False)\n"
         "model.bert.encoder.layer[3].requires_grad_(True)", [3, 4]),
        ("model.bert.requires_grad_(False)\nif epoch == 2:\n    model.requires_grad_(True)", [2, 4]),
    ],
)  # fmt: skip
def test_weights_that_are_trained_again_leave_no_pattern_that_would_freeze_them(script, unread):
    found = frozen_in(LOADED + script)
    assert (found.patterns, found.unread) == ([], unread)


def test_of_several_pretrained_models_the_one_that_is_trained_is_meant():
    teacher = LOADED.replace("model =", "teacher =")
    tokenizer = 'tokenizer = AutoTokenizer.from_pretrained("a/b")\n'
    frozen = "teacher.requires_grad_(False)\nmodel.bert.requires_grad_(False)\n"
    assert frozen_in(teacher + LOADED + tokenizer + frozen) == Frozen(["bert.*"], [4])
    trained = "Trainer(model=teacher)\n"
    assert frozen_in(teacher + LOADED + frozen + trained) == Frozen(["*"], [4])


def test_a_classifier_of_which_a_part_is_trained_again_says_so():
    script = SCRIPT.replace("CausalLM", "SequenceClassification") + ALL + HEAD
    result = made(script, "train.py")
    assert "freeze:" not in result.recipe_text
    assert any("lines 5, 7 set which weights are trained" in note for note in result.notes)
    assert any("`model.trained_layers: 0`" in note for note in result.notes)


@for_each(
    ("settings", "script", "frozen"),
    [
        ({}, LOOP.format(part="model.model.embed_tokens"), ("embedding.*",)),
        ({}, "model.model.layers[:2].requires_grad_(False)", ("decoder.blocks.[0-1].*",)),
        ({}, "model.model.layers[1].mlp.requires_grad_(False)", ("decoder.blocks.1.feed_forward.*",)),
        ({}, "model.model.layers[1].mlp.up_proj.requires_grad_(False)", ()),
        ({}, "model.lm_head.requires_grad_(False)", ("embedding.*",)),
        ({"tie_word_embeddings": False}, "model.lm_head.requires_grad_(False)", ("output.*",)),
        (None, LOOP.format(part="model.transformer.wte"), ("network.transformer.wte.*",)),
        (None, LOOP.format(part="model.model.embed_tokens"), ()),
    ],
)
def test_a_language_model_freezes_what_the_script_freezes(tmp_path, settings, script, frozen):
    if settings is not None:
        pretrained_folder(tmp_path, **settings)
    place = "a/b" if settings is None else str(tmp_path)
    result = made(SCRIPT.replace("a/b", place) + script, "train.py")
    is_noted = any("frozen there: name them in `freeze`" in note for note in result.notes)
    assert is_noted is (not frozen)
    assert ("freeze:" in result.recipe_text) is bool(frozen)
    if settings is not None:
        assert parse_recipe(result.recipe_text, path=tmp_path / "recipe.yaml").recipe.freeze == frozen
    else:
        assert all(pattern in result.recipe_text for pattern in frozen)


def test_beside_an_adapter_nothing_else_is_frozen():
    script = SCRIPT.replace("Trainer,", "Trainer,\\\n") + "model.transformer.wte.requires_grad_(False)\n"
    lora = "from peft import LoraConfig, get_peft_model\nmodel = get_peft_model(model, LoraConfig(r=8))\n"
    assert "freeze:" in made(script, "train.py").recipe_text
    assert "freeze:" not in made(script + lora, "train.py").recipe_text


@for_each("tied", [True, False])
def test_every_weight_of_llama_has_the_pattern_of_the_one_that_holds_it_alone(tied):
    model = DecoderOnly(
        DecoderModel(layers=2, dim=32, heads=2, feed_forward=48, qk_norm=True, tie_embeddings=tied),
        num_ids=64, max_positions=8, seed=1,
    )  # fmt: skip
    held = {each.data_ptr(): (name, each.numel()) for name, each in model.named_parameters()}
    for name, rows in named_rows(model):
        found = {each for pattern in own_patterns(name, tied=tied) for each in matched(model, [pattern])}
        parameter, size = held.get(rows.data_ptr(), ("", 0))
        assert found == ({parameter} if size == rows.numel() else set()), name
