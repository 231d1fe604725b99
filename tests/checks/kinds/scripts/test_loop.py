from tests.checks.kinds.describing import document, words
from tests.for_each import for_each
from trimtab.checks.kinds.scripts.loop import loop_concepts


def told(text, **versions):
    script = document("a.py", f"import torch, accelerate, transformers\n{text}\n")
    return words(loop_concepts(script, versions))


@for_each(
    ("text", "expected"),
    [
        ("get_scheduler('linear', o, 10, 100)", {"schedule": "linear", "warmup_steps": 10, "steps": 100}),
        ("get_constant_schedule_with_warmup(o, num_warmup_steps=5)",
         {"schedule": "constant_with_warmup", "warmup_steps": 5}),
        ("get_scheduler(name, o, 10, n)", {"warmup_steps": 10}),
        ("clip_grad_norm_(p, max_norm=2)", {"clip": 2.0}),
        ("clip_grad_norm_(p, 1.0)\nclip_grad_norm_(q, 2.0)", {}),
        ("clip_grad_norm_(p, 1.0)\nclip_grad_norm_(q, x)", {}),
        ("accelerate.Accelerator(mixed_precision='bf16', gradient_accumulation_steps=4)",
         {"autocast": "bf16", "accumulation": 4}),
        ("torch.autocast('cuda', dtype=torch.float16)", {"autocast": "fp16"}),
        ("torch.autocast('cuda')", {"autocast": "fp16"}),
        ("torch.autocast('cpu')", {}),
        ("torch.autocast('cuda', dtype=d)", {}),
        ("torch.autocast('cuda', enabled=flag)", {}),
        ("torch.compile(model)", {"compile": True}),
        ("torch.utils.checkpoint.checkpoint(f, x, use_reentrant=True)",
         {"gradient_checkpointing": True, "use_reentrant": True}),
        ("model.save.checkpoint(x)", {}),
        ("DataCollatorWithFlattening()", {"packing": True, "packing_isolated": True}),
    ],
)  # fmt: skip
def test_calls_of_a_loop_are_told(text, expected):
    assert told(text) == expected


@for_each(
    ("inside", "version", "reentrant"),
    [
        ("", (5, 0), False),
        ("", (4, 50), True),
        ("gradient_checkpointing_kwargs={'use_reentrant': True}", (5, 0), True),
        ("gradient_checkpointing_kwargs=k", (5, 0), None),
    ],
)
def test_recomputation_has_the_versions_kind(inside, version, reentrant):
    found = told(f"model.gradient_checkpointing_enable({inside})", transformers=version)
    assert found["gradient_checkpointing"] is True
    assert found.get("use_reentrant") == reentrant
