from tests.checks.kinds.describing import document
from tests.for_each import for_each
from trimtab.checks.description import Description
from trimtab.checks.training_script import loads_model, trains


def run(text, file="train.py"):
    return Description(tool="torch", kind="python", document=document(file, text))


@for_each(
    ("text", "is_so"),
    [
        ("Trainer(model)", True),
        ("trl.SFTTrainer(model)", True),
        ("Seq2SeqTrainingArguments('out')", True),
        ("SFTConfig('out')", True),
        ("loss.backward()", True),
        ("accelerator.backward(loss)", True),
        ("LoraConfig(r=8)", False),
        ("model.save_pretrained('out')", False),
        ("", False),
    ],
)
def test_a_script_trains_where_a_call_says_so(text, is_so):
    assert trains(run(text)) is is_so


def test_a_file_that_is_no_script_is_one_of_training():
    assert trains(run("a: 1\n", "run.yaml"))


@for_each(
    ("text", "is_so"),
    [
        ("AutoModelForCausalLM.from_pretrained('a')", True),
        ("transformers.MarianMTModel.from_pretrained('a')", True),
        ("AutoModel.from_config(config)", True),
        ("AutoTokenizer.from_pretrained('a')", False),
        ("AutoConfig.from_pretrained('a')", False),
        ("load('a')", False),
    ],
)
def test_a_model_is_told_from_what_stands_beside_it(text, is_so):
    assert loads_model(run(text)) is is_so
