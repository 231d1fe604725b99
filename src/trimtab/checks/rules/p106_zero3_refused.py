"""P106 zero3-refused"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.own_key import calls_of
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="P106",
    name="zero3-refused",
    severity="error",
    message="`{key}` with DeepSpeed ZeRO-3: {who} refuses to start",
    why="In stage 3 no process has a whole weight, so that what must see whole weights, or decode alone, "
    "does not work.",
    evidence=(
        Maintainer(
            "https://github.com/hiyouga/LLaMA-Factory/blob/ff6d4d1/src/llamafactory/hparams/parser.py",
            '"`predict_with_generate` is incompatible with DeepSpeed ZeRO-3.", and the same for pissa_init, '
            "pure_bf16, "
            "use_unsloth and use_kt.",
        ),
    ),
    fix=Fix("use ZeRO-2, or remove `{key}`"),
    bad=Example(
        "sft.yaml",
        "model_name_or_path: Qwen/Qwen2.5-7B\nstage: sft\ndo_train: true\nfinetuning_type: full\ntemplate: "
        "qwen\ndataset: alpaca_en_demo\nval_size: 0.1\noutput_dir: out\nbf16: true\npredict_with_generate: "
        "true\ndeepspeed: examples/deepspeed/ds_z3_config.json\n",
    ),
    good=Example(
        "sft.yaml",
        "model_name_or_path: Qwen/Qwen2.5-7B\nstage: sft\ndo_train: true\nfinetuning_type: full\ntemplate: "
        "qwen\ndataset: alpaca_en_demo\nval_size: 0.1\noutput_dir: out\nbf16: true\npredict_with_generate: "
        "true\ndeepspeed: examples/deepspeed/ds_z2_config.json\n",
    ),
    symptoms=("ValueError at start", "incompatible with DeepSpeed ZeRO-3"),
)

_REFUSED = ("predict_with_generate", "pissa_init", "pure_bf16", "use_unsloth", "use_kt")


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where the stage is known, from the file beside or from the name of the tool's own example."""
    if run.document.syntax == "python" and run.value("zero_stage") == 3:
        for call in calls_of(run, "from_pretrained"):
            entry = call.arguments.get("device_map")
            if entry is not None and isinstance(entry.value, str) and "Model" in call.qualifier:
                yield RULE.at(entry.place, key="device_map", who="transformers")
                return
    if run.tool != "llamafactory" or not _is_stage_three(run):
        return
    for key in _REFUSED:
        setting = run.written(key)
        if setting is not None and setting.value is True:
            yield RULE.at(setting, who="LLaMA-Factory")


def _is_stage_three(run: Description) -> bool:
    if run.value("zero_stage") is not None:
        return run.value("zero_stage") == 3
    named = run.written("deepspeed")
    name = str(named.value) if named is not None else ""
    return name.rpartition("/")[2] in (
        "ds_z3_config.json",
        "ds_z3_offload_config.json",
        "ds_z3_fp8_config.json",
    )
