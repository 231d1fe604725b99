import json

from hypothesis import given
from hypothesis import strategies as st

from tests.checks.kinds.describing import NEW, OLD, check, describe, describe_all, document, values
from tests.for_each import for_each
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.kind import Surroundings
from trimtab.checks.kinds.python_script import KIND

QLORA = """
import torch
from peft import LoraConfig, TaskType, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("meta-llama/Llama-2-7b-hf")
tokenizer.add_special_tokens({"pad_token": "[PAD]"})
model = AutoModelForCausalLM.from_pretrained(
    "meta-llama/Llama-2-7b-hf",
    torch_dtype=torch.bfloat16,
    attn_implementation="sdpa",
    quantization_config=BitsAndBytesConfig(load_in_4bit=True),
)
lora = LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type=TaskType.CAUSAL_LM)
model = get_peft_model(model, lora)
args = TrainingArguments(
    output_dir="out",
    learning_rate=2e-4,
    gradient_checkpointing=True,
    gradient_checkpointing_kwargs={"use_reentrant": True},
    optim="paged_adamw_8bit",
    bf16=True,
)
Trainer(model=model, args=args).train()
"""
LOOP = """
import torch
from torch.optim import AdamW
from transformers import get_cosine_schedule_with_warmup

optimizer = AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95))
scheduler = get_cosine_schedule_with_warmup(optimizer, num_warmup_steps=100, num_training_steps=1000)
model.gradient_checkpointing_enable()
for batch in loader:
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = model(**batch).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
"""


def told(text, versions=NEW):
    return describe(KIND, text, file="train.py", versions=versions)


def arguments(inside, before="", versions=NEW):
    return told(
        f"from transformers import TrainingArguments\n{before}\nTrainingArguments({inside})\n", versions
    )


def test_all_calls_of_a_script_make_one_run():
    run = told(QLORA)
    assert values(run, "model_name", "model_family") == ("meta-llama/Llama-2-7b-hf", "llama")
    assert values(run, "weights_dtype", "attention_kernel", "quantization_bits") == ("bf16", "sdpa", 4)
    assert values(run, "adapter", "lora_rank", "lora_alpha", "lora_targets") == (
        "qlora",
        16,
        32.0,
        ["all-linear"],
    )
    assert values(run, "learning_rate", "optimizer", "optimizer_paged") == (2e-4, "adamw", True)
    assert values(run, "gradient_checkpointing", "use_reentrant", "frozen_embeddings") == (True, True, True)
    assert values(run, "added_tokens", "autocast", "micro_batch") == (["[PAD]"], "bf16", 8)


def test_keys_carry_the_name_of_their_call_and_the_table_knows_them():
    run = told(QLORA)
    assert run.written("TrainingArguments.learning_rate").place.line == 18
    assert run.written("LoraConfig.r").value == 16
    assert run.table.key("TrainingArguments.learning_rate").minimum == 0
    assert run.table.key("LoraConfig.r").library == "peft"
    assert (
        run.table.key("TrainingArguments.evaluation_strategy").renamed_to == "TrainingArguments.eval_strategy"
    )
    assert run.table.unknown_keys == "refused"


def test_what_is_no_literal_is_unknown_and_no_default_speaks_for_it():
    run = arguments("output_dir=folder, learning_rate=float(rate), warmup_steps=100")
    assert values(run, "learning_rate", "output_dir", "warmup_steps") == (None, None, 100)


def test_arguments_that_cannot_be_seen_take_all_defaults_away():
    run = arguments("output_dir='x', learning_rate=1e-4, **more")
    assert values(run, "learning_rate", "weight_decay", "micro_batch") == (1e-4, None, None)


def test_members_of_enumerations_are_their_words():
    run = arguments(
        "'x', eval_strategy=IntervalStrategy.STEPS", "from transformers.trainer_utils import IntervalStrategy"
    )
    assert run.value("eval_strategy") == "steps"


def test_two_configurations_are_two_runs():
    text = "from transformers import TrainingArguments as T, TrainingArguments\n"
    text += "a = TrainingArguments('a', learning_rate=1e-4)\nb = TrainingArguments('b', learning_rate=1e-3)\n"
    runs = describe_all(KIND, text, file="t.py", versions=NEW)
    assert [run.value("learning_rate") for run in runs] == [1e-4, 1e-3]
    assert [run.written("TrainingArguments.learning_rate").value for run in runs] == [1e-4, 1e-3]


def test_a_loop_of_its_own_is_told():
    run = told(LOOP)
    assert values(run, "optimizer", "learning_rate", "beta2", "weight_decay") == ("adamw", 3e-4, 0.95, 0.01)
    assert values(run, "schedule", "warmup_steps", "steps", "clip") == ("cosine", 100, 1000, 0.5)
    assert values(run, "autocast", "gradient_checkpointing", "use_reentrant") == ("bf16", True, False)
    assert told(LOOP, OLD).value("use_reentrant") is True


def test_loaders_decoding_and_precision_of_a_loop_are_told():
    more = "train = DataLoader(data, batch_size=16, shuffle=True, num_workers=4)\nDataLoader(dev, batch_size=64)\n"
    more += (
        "torch.set_float32_matmul_precision('high')\nmodel.generate(x, num_beams=5, no_repeat_ngram_size=n)\n"
    )
    run = told(LOOP + more)
    assert values(run, "micro_batch", "batch_unit", "dataloader_workers", "pin_memory") == (
        16,
        "examples",
        4,
        None,
    )
    assert values(run, "tf32", "beam", "no_repeat_ngram") == (True, 5, None)


def test_an_optimizer_made_by_hand_replaces_the_trainers():
    text = LOOP + "from transformers import TrainingArguments\nTrainingArguments('x', learning_rate=1.0)\n"
    assert told(text).value("learning_rate") == 3e-4
    hidden = text.replace("lr=3e-4", "lr=rate")
    assert told(hidden).value("learning_rate") is None


def test_the_default_dtype_depends_on_the_version():
    text = "from transformers import AutoModel, TrainingArguments\nm = AutoModel.from_pretrained('x')\n"
    text += "TrainingArguments('o')\n"
    assert told(text).value("weights_dtype") == "auto"
    assert told(text, OLD).value("weights_dtype") == "fp32"
    assert told(text, "").value("weights_dtype") is None


def test_models_that_differ_leave_it_open():
    text = "from transformers import AutoModel, TrainingArguments\nTrainingArguments('o')\n"
    for name in "ab":
        text += f"{name} = AutoModel.from_pretrained('{name}', dtype='bfloat16')\n"
    assert values(told(text), "model_name", "weights_dtype") == (None, "bf16")


def test_trls_configuration_has_trls_defaults():
    run = told(
        "from trl import SFTConfig\nSFTConfig(output_dir='x', packing=True, packing_strategy='wrapped')\n"
    )
    assert values(run, "learning_rate", "gradient_checkpointing", "sequence_length") == (2e-5, True, 1024)
    assert values(run, "packing", "packing_isolated", "autocast") == (True, False, "bf16")
    assert run.tool == "trl"


def test_adafactor_of_transformers_steps_relatively_by_itself():
    text = "import torch\nfrom transformers import Adafactor\no = Adafactor(p)\nloss.backward()\n"
    assert values(told(text), "optimizer", "relative_step", "scale_parameter") == ("adafactor", True, True)


def test_torchao_rounds_only_where_asked():
    text = (
        "import torch, torchao\nfrom torchao.optim import AdamW8bit\no = AdamW8bit(p, {})\nloss.backward()\n"
    )
    assert told(text.format("lr=1e-4")).value("stochastic_rounding") is False
    assert told(text.format("bf16_stochastic_round=True")).value("stochastic_rounding") is True
    assert told(text.format("bf16_stochastic_round=x")).value("stochastic_rounding") is None


def test_a_class_of_its_own_has_no_table():
    run = arguments("output_dir='x', my_own=3", "class TrainingArguments:\n    pass\n")
    assert run.table is None


@for_each(
    "text",
    ["print(1)\n", "import torch\n", "import json\njson.loads('1')\n", "import setfit\nsetfit.Trainer()\n"],
)
def test_a_script_without_calls_or_without_the_fields_libraries_is_not_recognised(text):
    assert not KIND.recognises(document("a.py", text))


def test_a_script_that_only_loads_a_model_says_nothing_of_training():
    text = "import torch\nfrom transformers import AutoModel\nAutoModel.from_pretrained('gpt2', dtype=torch.float16)\n"
    run = told(text)
    assert values(run, "model_name", "model_family", "encoder_decoder") == ("gpt2", "gpt2", False)
    assert set(run.concepts) == {"model_name", "model_family", "encoder_decoder"}


@given(
    st.dictionaries(
        st.sampled_from(sorted(load_table("trl_sft").keys)),
        st.one_of(
            st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4), st.lists(st.integers())
        ),
        max_size=8,
    )
)
def test_values_of_any_type_never_raise(settings):
    inside = (
        ", ".join(f"{key}={value!r}" for key, value in settings.items())
        .replace("nan", "0")
        .replace("inf", "1")
    )
    read = document("a.py", f"from trl import SFTConfig\nSFTConfig({inside})\n")
    for run in KIND.describe(read, Surroundings()):
        check(run)


def test_arguments_of_another_librarys_class_are_not_told():
    code = "import torch\nfrom setfit import TrainingArguments\nTrainingArguments(num_epochs=3, learning_rate=2e-5)\n"
    (run,) = describe_all(KIND, code, file="a.py")
    assert run.table is None
    assert "TrainingArguments.num_epochs" not in run.keys


def test_an_adapter_does_not_count_for_a_trainer_made_before_it():
    part = "args = TrainingArguments('x')\ntrainer = Trainer(model, args)\n"
    code = f"from transformers import Trainer, TrainingArguments\nfrom peft import LoraConfig\n{part}"
    first, second = describe_all(KIND, f"{code}config = LoraConfig(r=8)\n{part}", file="a.py")
    assert values(first, "adapter", "lora_rank") == (None, None)
    assert values(second, "adapter", "lora_rank") == ("lora", 8)


OPTIMIZER = "x = torch.optim.AdamW(p, lr=1e-4)"


def _cells(*lines):
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": [line]} for line in lines]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4})


@for_each(
    ("cells", "rates"),
    [
        (["!torchrun run_clm.py --learning_rate 1e-3 --output_dir o"], [1e-3]),
        (["%%bash\npython run_clm.py --learning_rate 1e-3 --output_dir o"], [1e-3]),
        (["!pip install x", "!accelerate launch run_mlm.py --learning_rate 2e-3 --seed 1"], [2e-3]),
        (
            ["import torch", OPTIMIZER, "!python run_clm.py --learning_rate 1e-3"],
            [1e-4, 1e-3],
        ),
        (["import torch", OPTIMIZER, "!ls run_clm.py"], [1e-4]),
    ],
)
def test_commands_of_a_notebook_are_runs_of_their_own(cells, rates):
    runs = describe_all(KIND, _cells(*cells), file="n.ipynb")
    assert [run.value("learning_rate") for run in runs] == rates


def test_a_notebook_that_installs_something_is_no_configuration():
    assert not KIND.recognises(document("n.ipynb", _cells("!pip install torch", "!nvidia-smi", "x = 1")))
