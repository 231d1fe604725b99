"""Data, models, trainers and machines in scripts: further inputs of each kind, and twins that are right."""

from textwrap import dedent

from tests.checks.rules.findings import findings, severities
from tests.for_each import for_each
from trimtab.checks.rules import (
    c108_key_removed,
    c122_best_model_out_of_step,
    c124_trainer_refuses,
    d105_validated_on_training_data,
    d115_sampler_without_epoch,
    d116_workers_share_one_seed,
    d119_cut_shorter_than_loaded_for,
    d120_targets_without_tags,
    e109_generation_settings_in_model_config,
    e110_end_token_that_never_comes,
    e111_all_logits_kept,
    k111_checkpoints_fill_the_disk,
    m120_quantised_weights_without_adapter,
    m122_tie_lost,
    m123_adapter_over_adapter,
    m124_resize_cuts_table,
    p101_reentrant_over_frozen_inputs,
    s140_rate_beyond_any_use,
    s301_updates_round_away,
    s308_fp16_weights_under_scaler,
    x104_merged_into_quantised_weights,
)

IMPORTS = (
    "import torch\nimport numpy as np\nfrom torch import nn\n"
    "from torch.utils.data import DataLoader, Dataset, DistributedSampler\nfrom datasets import load_dataset\n"
    "from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer, BitsAndBytesConfig\n"
    "from transformers import EarlyStoppingCallback, Seq2SeqTrainer, Trainer, TrainingArguments\n"
)
PEFT = "from peft import LoraConfig, PeftModel, get_peft_model\n"
TRL = "from trl import GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer\n"


def fires(rule, text, versions=""):
    return len(findings(rule, "train.py", IMPORTS + dedent(text), versions=versions)) > 0


SAMPLED = "sampler = DistributedSampler(data{options})\nloader = DataLoader(data, sampler=sampler)\n{loop}"
EPOCHS = "for epoch in range(3):\n{set}    for x in loader:\n        model(x).backward()\n        optimizer.step()\n"


@for_each(
    ("options", "loop", "told"),
    [
        ("", EPOCHS.format(set=""), True),
        (", shuffle=True", EPOCHS.format(set="    model.train()\n"), True),
        ("", EPOCHS.format(set="").replace("in loader", "in tqdm(loader)"), True),
        ("", EPOCHS.format(set="").replace("for x in loader", "for i, x in enumerate(loader)"), True),
        ("", "def epoch(loader):\n    for x in loader:\n        model(x).backward()\n\nfor e in range(3):\n"
         "    epoch(loader)", True),
        ("", EPOCHS.format(set="    sampler.set_epoch(epoch)\n"), False),
        ("", EPOCHS.format(set="    loader.sampler.set_epoch(epoch)\n"), False),
        (", shuffle=False", EPOCHS.format(set=""), False),
        ("", "for x in loader:\n    model(x).backward()\n", False),
        ("", "for epoch in range(3):\n    for x in loader:\n        model(x)\n", False),
    ],
)  # fmt: skip
def test_samplers(options, loop, told):
    assert fires(d115_sampler_without_epoch, SAMPLED.format(options=options, loop=loop)) is told


NOISY = """
class Noisy(Dataset):
    def __init__(self, lines, rng=None):
        self.rng = {made}
    def __getitem__(self, index):
        return {drawn}
DataLoader(Noisy(lines), num_workers={workers}{options})
"""


@for_each(
    ("made", "drawn", "workers", "options", "told"),
    [
        ("np.random.default_rng(1)", "self.rng.random()", 8, "", True),
        ("np.random.RandomState(0)", "self.rng.randint(3)", 4, "", True),
        ("__import__('random').Random(0) or None", "self.rng.random()", 4, "", False),
        (
            "np.random.default_rng()",
            "self.noise(index)\n    def noise(self, i):\n        return self.rng.random()",
            2, "", True,
        ),
        ("np.random.default_rng(1)", "self.rng.random()", 0, "", False),
        ("np.random.default_rng(1)", "self.rng.random()", 8, ", worker_init_fn=seed", False),
        ("None", "np.random.default_rng(index).random()", 8, "", False),
        ("np.random.default_rng(1)", "index", 8, "", False),
        ("np.random.default_rng(1)", "self.rng.random() if get_worker_info() else 0", 8, "", False),
    ],
)  # fmt: skip
def test_generators_of_datasets(made, drawn, workers, options, told):
    text = NOISY.format(made=made, drawn=drawn, workers=workers, options=options)
    assert fires(d116_workers_share_one_seed, text) is told


TRAINED = "model = AutoModelForCausalLM.from_pretrained('gpt2')\nds = load_dataset('a')\n{}"


@for_each(
    ("arguments", "told"),
    [
        ("train_dataset=ds['train'], eval_dataset=ds['train']", True),
        ("train_dataset=ds, eval_dataset=ds", True),
        ("eval_dataset=ds['train'], train_dataset=ds['train'], args=TrainingArguments('o')", True),
        ("train_dataset=ds['train'], eval_dataset=ds['test']", False),
        ("train_dataset=ds['train'], eval_dataset=None", False),
        ("train_dataset=ds['train'].select(a), eval_dataset=ds['train'].select(b)", False),
    ],
)
def test_one_data_set_on_both_sides(arguments, told):
    assert (
        fires(d105_validated_on_training_data, TRAINED.format(f"Trainer(model=model, {arguments})")) is told
    )


STREAM = "ds = load_dataset('a', streaming=True{})\n"


@for_each(
    ("text", "told"),
    [
        (STREAM.format("") + "Trainer(model=m, args=TrainingArguments('o'), train_dataset=ds['train'])", True),
        (STREAM.format(", split='train'")
         + "Trainer(model=m, args=TrainingArguments('o'), train_dataset=ds.map(f))", True),
        (STREAM.format("") + "args = TrainingArguments('o', num_train_epochs=3)\n"
         "Seq2SeqTrainer(model=m, args=args, train_dataset=ds['train'].shuffle(1))", True),
        (STREAM.format("")
         + "Trainer(model=m, args=TrainingArguments('o', max_steps=9), train_dataset=ds['train'])", False),
        (STREAM.format("") + "Trainer(model=m, args=parse(), train_dataset=ds['train'])", False),
        (STREAM.format("") + "Trainer(model=m, args=TrainingArguments(**a), train_dataset=ds['train'])", False),
        ("Trainer(model=m, args=TrainingArguments('o'), train_dataset=load_dataset('a'))", False),
        ("Trainer(model=m, args=TrainingArguments('o'), callbacks=[EarlyStoppingCallback(3)])", True),
        ("args = TrainingArguments('o', load_best_model_at_end=True, eval_strategy='no')\n"
         "Trainer(model=m, args=args, callbacks=[EarlyStoppingCallback(3)])", True),
        ("args = TrainingArguments('o', load_best_model_at_end=True, eval_strategy='epoch')\n"
         "Trainer(model=m, args=args, eval_dataset=d, callbacks=[EarlyStoppingCallback(3)])", False),
        ("args = TrainingArguments('o', metric_for_best_model='f1', evaluation_strategy='epoch')\n"
         "Trainer(model=m, args=args, callbacks=[EarlyStoppingCallback(3)])", False),
        (TRL + "SFTTrainer(model='a', args=SFTConfig('o', completion_only_loss=True), formatting_func=f)", True),
        (TRL + "SFTTrainer(model='a', args=SFTConfig('o'), formatting_func=f)", False),
        (TRL + "GRPOTrainer(model='a', args=GRPOConfig('o', num_generations=7, per_device_train_batch_size=4))", True),
        (TRL + "GRPOTrainer(model='a', args=GRPOConfig('o', num_generations=8, per_device_train_batch_size=4))", False),
        (TRL + "GRPOTrainer(model='a', args=GRPOConfig('o', num_generations=8, per_device_train_batch_size=n))", False),
        (TRL + "GRPOTrainer(model='a', args=GRPOConfig('o', num_generations=7, generation_batch_size=14))", False),
    ],
)  # fmt: skip
def test_what_trainers_refuse(text, told):
    assert fires(c124_trainer_refuses, text) is told


@for_each(
    ("text", "versions", "told"),
    [
        ("from transformers import AdamW\nAdamW(p)", "transformers=5.1", ["error"]),
        ("from transformers import AdamW\nAdamW(p)", "transformers=4.40", []),
        ("from transformers import AdamW\nAdamW(p)", "", ["warning"]),
        ("from torch.optim import AdamW\nAdamW(p)", "transformers=5.1", []),
        (
            "import transformers\ntransformers.ViTFeatureExtractor.from_pretrained('a')",
            "transformers=5.1",
            ["error"],
        ),
        ("Trainer(model=m, tokenizer=t)", "transformers=5.1", ["error"]),
        ("Trainer(model=m, processing_class=t)", "transformers=5.1", []),
        (TRL + "SFTTrainer(model=m, tokenizer=t)", "trl=0.20 transformers=4.50", ["error"]),
        (TRL + "SFTTrainer(model=m, tokenizer=t)", "trl=0.15 transformers=4.50", []),
        ("import unsloth\n" + TRL + "SFTTrainer(model=m, tokenizer=t)", "trl=0.20 transformers=4.50", []),
        (TRL + "SFTTrainer(model=m, max_seq_length=9)", "trl=0.20 transformers=4.50", ["error"]),
    ],
)
def test_names_that_libraries_no_longer_have(text, versions, told):
    assert severities(c108_key_removed, "train.py", IMPORTS + text, versions=versions) == told


@for_each(
    ("sets", "options", "told"),
    [
        ("{'a': x, 'b': y}", "", True),
        ("{'a': x}", ", metric_for_best_model='eval_loss'", True),
        ("{'a': x, 'b': y}", ", metric_for_best_model='eval_a_loss'", False),
        ("{'a': x, 'b': y}", ", metric_for_best_model=metric", False),
        ("x", "", False),
        ("sets", "", False),
    ],
)
def test_the_best_model_by_one_of_several_sets(sets, options, told):
    text = (
        "args = TrainingArguments(output_dir='o', load_best_model_at_end=True, eval_strategy='epoch', "
        f"save_strategy='epoch'{options})\nTrainer(model=m, args=args, train_dataset=t, eval_dataset={sets})\n"
    )
    assert fires(c122_best_model_out_of_step, text) is told


@for_each(
    ("line", "told"),
    [
        ("model.lm_head = nn.Linear(1, 1)", True),
        ("model.set_input_embeddings(nn.Embedding(9, 9))", True),
        ("model.set_output_embeddings(nn.Linear(9, 9))", True),
        ("net = model.cuda()\nnet.lm_head = nn.Linear(1, 1)", True),
        ("def grow(m):\n    m.lm_head = nn.Linear(1, 1)\n\ngrow(model)", True),
        ("model.lm_head = nn.Linear(1, 1)\nmodel.tie_weights()", False),
        ("model.resize_token_embeddings(9)", False),
        ("model.score = nn.Linear(1, 1)", False),
        ("model.config.tie_word_embeddings = False\nmodel.lm_head = nn.Linear(1, 1)", False),
        ("model.set_input_embeddings(e)\nmodel.set_output_embeddings(h)", False),
    ],
)
def test_ties_that_are_lost(line, told):
    assert fires(m122_tie_lost, "model = AutoModelForCausalLM.from_pretrained('gpt2')\n" + line) is told


@for_each(
    ("lines", "told"),
    [
        ("m = get_peft_model(base, c)\nPeftModel.from_pretrained(m, 'a')", True),
        ("m = get_peft_model(base, c).cuda()\nm = PeftModel.from_pretrained(m, 'a')", True),
        ("PeftModel.from_pretrained(get_peft_model(base, c), 'a')", True),
        ("def load(b):\n    return PeftModel.from_pretrained(b, 'a')\n\nload(get_peft_model(base, c))", True),
        ("import peft\nm = peft.get_peft_model(base, c)\npeft.PeftModel.from_pretrained(m, 'a')", True),
        ("PeftModel.from_pretrained(base, 'a')", False),
        ("m = get_peft_model(base, c).merge_and_unload()\nPeftModel.from_pretrained(m, 'a')", False),
        ("m = get_peft_model(base, c)\nm.load_adapter('a', 'b')", False),
        ("m = get_peft_model(base, c)\nPeftModel.from_pretrained(other, 'a')", False),
        ("m = get_peft_model(PeftModel.from_pretrained(base, 'a'), c)", False),
    ],
)
def test_adapters_over_adapters(lines, told):
    assert fires(m123_adapter_over_adapter, PEFT + lines) is told


TABLE = (
    "tok = AutoTokenizer.from_pretrained({0!r})\nmodel = AutoModelForSeq2SeqLM.from_pretrained({0!r})\n{1}"
)
RESIZE = "model.resize_token_embeddings(len(tok))"


@for_each(
    ("name", "lines", "told"),
    [
        ("google-t5/t5-small", RESIZE, True),
        ("google/mt5-base", RESIZE, True),
        ("Qwen/Qwen2.5-7B", RESIZE, True),
        ("EleutherAI/pythia-160m", "model = model.cuda()\n" + RESIZE, True),
        (
            "facebook/opt-125m",
            "def fit(m, t):\n    m.resize_token_embeddings(len(t))\n\nfit(model, tok)",
            True,
        ),
        ("gpt2", RESIZE, False),
        ("google-t5/t5-small", "tok.add_tokens(['a'])\n" + RESIZE, False),
        ("google-t5/t5-small", "if len(tok) > model.config.vocab_size:\n    " + RESIZE, False),
        ("google-t5/t5-small", "model.resize_token_embeddings(32128)", False),
        ("google-t5/t5-small", "model.resize_token_embeddings(len(other))", False),
    ],
)
def test_tables_that_are_cut(name, lines, told):
    assert fires(m124_resize_cuts_table, TABLE.format(name, lines)) is told


MERGE = (
    PEFT + "base = AutoModelForCausalLM.from_pretrained('a'{})\nm = PeftModel.from_pretrained(base, 'b')\n{}"
)


@for_each(
    ("options", "merge", "told"),
    [
        (", quantization_config=BitsAndBytesConfig(load_in_4bit=True)", "m.merge_and_unload()", True),
        (", quantization_config=BitsAndBytesConfig(load_in_8bit=True)", "m = m.merge_and_unload()", True),
        (", load_in_4bit=True", "m.merge_and_unload().save_pretrained('c')", True),
        (", **dict(quantization_config=BitsAndBytesConfig(load_in_4bit=True))", "m.cuda().merge_and_unload()", True),
        (", quantization_config=BitsAndBytesConfig(load_in_4bit=False)", "m.merge_and_unload()", False),
        (", dtype=torch.bfloat16", "m.merge_and_unload()", False),
        (", quantization_config=BitsAndBytesConfig(load_in_4bit=True)", "m.generate(x)", False),
    ],
)  # fmt: skip
def test_merges_into_quantised_weights(options, merge, told):
    assert fires(x104_merged_into_quantised_weights, MERGE.format(options, merge)) is told


@for_each(
    ("line", "versions", "told"),
    [
        ("model.config.num_beams = 4", "transformers=5.1", ["error"]),
        (
            "model.config.max_length = 64\nmodel.config.early_stopping = True",
            "transformers=5.1",
            ["error", "error"],
        ),
        ("model.config.forced_bos_token_id = 3", "transformers=5.1", ["warning"]),
        ("net = model.to('cuda')\nnet.config.length_penalty = 2.0", "transformers=5.1", ["error"]),
        ("model.config.num_beams = 4", "", ["warning"]),
        ("model.config.num_beams = 4", "transformers=4.30", []),
        ("model.generation_config.num_beams = 4", "transformers=5.1", []),
        ("model.config.use_cache = False\nmodel.config.pad_token_id = 0", "transformers=5.1", []),
        ("other.config.num_beams = 4", "transformers=5.1", []),
        ("model.config.max_length = None", "transformers=5.1", []),
    ],
)
def test_generation_settings_in_the_model(line, versions, told):
    text = (
        IMPORTS
        + "model = AutoModelForSeq2SeqLM.from_pretrained('a')\n"
        + line
        + "\nmodel.save_pretrained('b')\n"
    )
    assert severities(e109_generation_settings_in_model_config, "train.py", text, versions=versions) == told


@for_each(
    ("call", "told"),
    [
        ("model.generate(x, eos_token_id=-1)", True),
        ("from transformers import GenerationConfig\nGenerationConfig(eos_token_id=-1)", True),
        ("model.generate(x, eos_token_id=END)", True),
        ("model.generate(**x, max_new_tokens=9, eos_token_id=-100)", True),
        ("def f(m):\n    return m.generate(x, eos_token_id=-1)", True),
        ("model.generate(x, eos_token_id=2)", False),
        ("model.generate(x)", False),
        ("model.generate(x, eos_token_id=tok.eos_token_id)", False),
        ("import time\nt = time.perf_counter()\nmodel.generate(x, eos_token_id=-1)", False),
    ],
)
def test_ends_that_never_come(call, told):
    assert fires(e110_end_token_that_never_comes, "END = -1\n" + call) is told


@for_each(
    ("length", "trainer", "versions", "told"),
    [
        ("4096", "SFTTrainer(model=m, args=SFTConfig(output_dir='o'))", "trl=0.19", True),
        ("2048 * 2", "SFTTrainer(model=m, args=SFTConfig(output_dir='o'))", "trl=0.15", True),
        ("4096", "args = SFTConfig(output_dir='o')\nSFTTrainer(model=m, args=args)", "trl=0.18", True),
        ("1024", "SFTTrainer(model=m, args=SFTConfig(output_dir='o'))", "trl=0.19", False),
        ("4096", "SFTTrainer(model=m, args=SFTConfig(output_dir='o', max_length=4096))", "trl=0.19", False),
        (
            "4096",
            "SFTTrainer(model=m, args=SFTConfig(output_dir='o'), max_seq_length=4096)",
            "trl=0.19",
            False,
        ),
        ("n", "SFTTrainer(model=m, args=SFTConfig(output_dir='o'))", "trl=0.19", False),
        ("4096", "SFTTrainer(model=m, args=SFTConfig(output_dir='o'))", "trl=0.24", False),
        ("4096", "SFTTrainer(model=m, args=SFTConfig(output_dir='o'))", "", False),
    ],
)
def test_lengths_of_loader_and_trainer(length, trainer, versions, told):
    text = (
        TRL
        + f"from unsloth import FastLanguageModel as F\nm, t = F.from_pretrained('a', max_seq_length={length})\n"
    )
    assert fires(d119_cut_shorter_than_loaded_for, text + trainer, versions) is told


def test_logits_of_a_whole_evaluation():
    text = TRAINED.format(
        "args = TrainingArguments(output_dir='o'{})\nTrainer(model=model, args=args, eval_dataset=e{})"
    )
    assert fires(e111_all_logits_kept, text.format("", ", compute_metrics=f"))
    assert not fires(e111_all_logits_kept, text.format("", ""))
    assert not fires(e111_all_logits_kept, text.format(", eval_accumulation_steps=4", ", compute_metrics=f"))
    ways = ", compute_metrics=f, preprocess_logits_for_metrics=g"
    assert not fires(e111_all_logits_kept, text.format("", ways))
    other = text.replace("AutoModelForCausalLM.from", "AutoModelForSeq2SeqLM.from")
    assert not fires(e111_all_logits_kept, other.format("", ", compute_metrics=f"))


def test_checkpoints_of_a_large_model():
    bad = k111_checkpoints_fill_the_disk.RULE.bad.text
    assert fires(k111_checkpoints_fill_the_disk, bad)
    assert not fires(k111_checkpoints_fill_the_disk, bad.replace("save_steps=100", "save_steps=20000"))
    assert not fires(
        k111_checkpoints_fill_the_disk, bad.replace("Llama-3.1-8B", "Llama-3.2-1B").replace("100000", "9000")
    )
    assert not fires(
        k111_checkpoints_fill_the_disk, bad.replace("save_steps=100", "save_steps=100, save_only_model=True")
    )


def test_targets_of_one_source():
    bad = d120_targets_without_tags.RULE.bad.text
    assert findings(d120_targets_without_tags, "r.yaml", bad)
    assert not findings(
        d120_targets_without_tags,
        "r.yaml",
        bad.replace("source: en.txt, target: fr", "source: b.txt, target: fr"),
    )


LOOP = "for x in loader:\n    model(**x).loss.backward()\n    optimizer.step()\n    optimizer.zero_grad()\n"


@for_each(
    ("made", "told"),
    [
        ("model = AutoModelForCausalLM.from_pretrained('gpt2', dtype=torch.bfloat16)", True),
        ("model = AutoModelForCausalLM.from_pretrained('gpt2').bfloat16()", True),
        (
            "model = AutoModelForCausalLM.from_pretrained('gpt2')\nmodel.to(device='cuda', dtype=torch.bfloat16)",
            True,
        ),
        ("model = nn.Linear(1, 1).to(torch.bfloat16)", True),
        ("model = AutoModelForCausalLM.from_pretrained('gpt2', torch_dtype='bfloat16').cuda()", True),
        ("model = AutoModelForCausalLM.from_pretrained('gpt2')", False),
        ("model = AutoModelForCausalLM.from_pretrained('gpt2', dtype=torch.float32)", False),
        ("model = AutoModelForCausalLM.from_pretrained('gpt2', dtype=torch.bfloat16).float()", False),
    ],
)
def test_weights_of_loops_that_round_away(made, told):
    text = f"{made}\noptimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)\n{LOOP}"
    assert fires(s301_updates_round_away, text, "transformers=4.50") is told


def test_fp16_under_a_scaler_with_and_without_adapters():
    text = (
        PEFT + "model = AutoModelForCausalLM.from_pretrained('gpt2', dtype=torch.float16)\n{}"
        "Trainer(model=model, args=TrainingArguments('o', fp16=True)).train()\n"
    )
    adapter = "model = get_peft_model(model, LoraConfig(target_modules=['c_attn']{}))\n"
    assert fires(s308_fp16_weights_under_scaler, text.format(""))
    assert fires(s308_fp16_weights_under_scaler, text.format(adapter.format(", modules_to_save=['wte']")))
    assert not fires(s308_fp16_weights_under_scaler, text.format(adapter.format("")))


def test_rates_that_nobody_uses():
    text = "optimizer = torch.optim.{}(model.parameters(), lr={})\n"
    assert fires(s140_rate_beyond_any_use, text.format("AdamW", "3e4"))
    assert fires(s140_rate_beyond_any_use, text.format("Adam", 5))
    assert not fires(s140_rate_beyond_any_use, text.format("SGD", 5))
    assert not fires(s140_rate_beyond_any_use, text.format("AdamW", 0.05))
    noam = text.format("Adam", 2) + "torch.optim.lr_scheduler.LambdaLR(optimizer, f)\n"
    assert not fires(s140_rate_beyond_any_use, noam)


FROZEN = """
from torch.utils.checkpoint import checkpoint
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(9, 9)
        self.block = nn.Linear(9, 9)
    def forward(self, x):
        return checkpoint(self.block, self.emb(x), use_reentrant={kind})
model = Net()
{freeze}
for x in loader:
    model(x).sum().backward()
"""


@for_each(
    ("kind", "freeze", "told"),
    [
        (True, "model.emb.weight.requires_grad_(False)", True),
        (True, "model.emb.weight.requires_grad = False", True),
        (True, "model.emb.requires_grad_(False)", True),
        (True, "for p in model.emb.parameters():\n    p.requires_grad = False", True),
        (False, "model.emb.weight.requires_grad_(False)", False),
        (True, "model.block.weight.requires_grad_(False)", False),
        (True, "", False),
    ],
)
def test_checkpointing_over_frozen_embeddings(kind, freeze, told):
    assert fires(p101_reentrant_over_frozen_inputs, FROZEN.format(kind=kind, freeze=freeze)) is told


QUANTISED = (
    "from accelerate import Accelerator\nfrom transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer\n"
    "import torch\nmodel = AutoModelForCausalLM.from_pretrained('gpt2', quantization_config=BitsAndBytesConfig("
    "load_in_8bit=True))\noptimizer = torch.optim.AdamW(other.parameters(), lr=1e-4)\n{}\n"
)


def test_only_a_trainer_refuses_quantised_weights_without_adapter():
    trained = QUANTISED.format("Trainer(model=model, args=args, train_dataset=data).train()")
    assert fires(m120_quantised_weights_without_adapter, trained)
    assert not fires(m120_quantised_weights_without_adapter, QUANTISED.format("Accelerator().prepare(model)"))
