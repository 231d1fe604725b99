"""C110 setting-under-two-names"""

from collections.abc import Iterator

from trimtab.checks.combination import Combination, found, written
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="C110",
    name="setting-under-two-names",
    severity="warning",
    message="{says}",
    why="Two keys decide one thing, the tool uses one of them and silently ignores the other.",
    evidence=(
        Maintainer(
            "https://github.com/axolotl-ai-cloud/axolotl/blob/067b021/src/axolotl/core/builders/base.py",
            "The builder sets `fp16` to `self.cfg.fp16 and not self.cfg.bf16`: with both, fp16 is off.",
        ),
        Maintainer(
            "https://github.com/OpenNMT/OpenNMT-py/blob/97111d9/onmt/utils/parse.py",
            "update_model_opts overwrites enc_layers and dec_layers with layers, enc_hid_size and "
            "dec_hid_size with hidden_size, src_word_vec_size and tgt_word_vec_size with word_vec_size, "
            "where these are above 0.",
        ),
    ),
    fix=Fix("{fix}"),
    bad=Example(
        "axolotl.yaml",
        "base_model: meta-llama/Llama-3.2-1B\ndatasets:\n  - path: data.jsonl\n    type: "
        "alpaca\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\nlearning_rate: 0.00002\nbf16: "
        "true\nfp16: true\n",
    ),
    good=Example(
        "axolotl.yaml",
        "base_model: meta-llama/Llama-3.2-1B\ndatasets:\n  - path: data.jsonl\n    type: alpaca\n"
        "micro_batch_size: 2\ngradient_accumulation_steps: 4\nlearning_rate: 0.00002\nbf16: true\n",
    ),
    symptoms=("a setting has no effect", "loss scale is never logged"),
)

_AXOLOTL = (
    Combination(
        "fp16 bf16=true|full",
        "bf16 and fp16 are both on: Axolotl takes bf16 and switches fp16 off",
        "remove `fp16`",
    ),
)
_OPENNMT = tuple(
    Combination(
        f"{one} {general}",
        f"`{general}` overwrites `{one}`",
        f"keep one of them: `{general}` for both sides, or the two single ones",
    )
    for general, ones in (
        ("layers", ("enc_layers", "dec_layers")),
        ("hidden_size", ("enc_hid_size", "dec_hid_size")),
        ("word_vec_size", ("src_word_vec_size", "tgt_word_vec_size")),
    )
    for one in ones
)
_BEFORE_5 = (
    Combination(
        "warmup_ratio warmup_steps",
        "`warmup_steps` overrides `warmup_ratio`",
        "keep one of them",
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Silent where both say the same."""
    rows: tuple[Combination, ...] = {"axolotl": _AXOLOTL, "opennmt": _OPENNMT}.get(run.tool, ())
    if run.tool in ("transformers", "trl", "llamafactory") and run.at_least("transformers", 5) is False:
        rows = _BEFORE_5
    for where, row in found(run, rows):
        names = [word.partition("=")[0] for word in row.when.split()]
        values = {str(setting.value) for name in names if (setting := written(run, name)) is not None}
        if len(values) > 1 or run.tool == "axolotl":
            yield RULE.at(where, says=row.says, fix=row.fix)
