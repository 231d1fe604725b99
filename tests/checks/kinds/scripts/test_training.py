from tests.checks.kinds.describing import document, words
from trimtab.checks.kinds.kind import Surroundings
from trimtab.checks.kinds.scripts.training import CLASSES, configurations, table_of, trainer_concepts


def test_a_class_counts_where_its_library_is_imported():
    with_it = document("a.py", "import trl\ntrl.DPOConfig(beta=0.1)\n")
    without = document("a.py", "import mine\nmine.DPOConfig(beta=0.1)\n")
    assert len(configurations(with_it)) == 1
    assert configurations(without) == []


def test_every_class_has_a_table_with_a_learning_rate():
    for name in CLASSES:
        script = document("a.py", f"import {CLASSES[name][0]}\n{name}()\n")
        assert "learning_rate" in table_of(configurations(script)[0], Surroundings()).keys


def test_a_preference_trainer_has_its_own_rate():
    script = document("a.py", "import trl\ntrl.DPOConfig(output_dir='x')\n")
    told, written = trainer_concepts(configurations(script)[0], script, Surroundings())
    assert words(told)["learning_rate"] == 1e-6
    assert words(told)["task"] == "preference"
    assert written.prefix == "DPOConfig."


def test_a_deepspeed_mapping_in_the_call_is_told():
    text = "import transformers\ntransformers.TrainingArguments('x', deepspeed={'zero_optimization': {'stage': 2}})\n"
    script = document("a.py", text)
    told, _ = trainer_concepts(configurations(script)[0], script, Surroundings())
    assert words(told)["zero_stage"] == 2


def test_a_class_of_the_same_name_from_another_library_is_not_the_trainers():
    code = "import transformers\nfrom {source} import TrainingArguments\nTrainingArguments(num_epochs=3)\n"
    for source in ("setfit", "llamafactory.v1.config", ".arguments"):
        assert configurations(document("a.py", code.format(source=source))) == []
    for source in ("transformers", "unsloth"):
        assert len(configurations(document("a.py", code.format(source=source)))) == 1
