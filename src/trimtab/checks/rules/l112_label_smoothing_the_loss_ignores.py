"""L112 label-smoothing-the-loss-ignores"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.edits import RemoveKey
from trimtab.checks.evidence import Maintainer
from trimtab.checks.own_key import calls_of
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

SMOOTHED = "label_smoothed_cross_entropy"
_YAML = (
    "data:\n  corpus_1: {{path_src: train.txt, path_tgt: train.sum}}\n  valid: {{path_src: dev.txt, "
    "path_tgt: dev.sum}}\nsave_model: out/model\nencoder_type: transformer\ndecoder_type: transformer\n"
    "hidden_size: 512\nword_vec_size: 512\nheads: 8\nposition_encoding: true\ncopy_attn: true\n{smoothing}"
)

RULE = Rule(
    code="L112",
    name="label-smoothing-the-loss-ignores",
    severity="error",
    message="`{key}: {value}` has no effect: the loss of {other} takes no label smoothing",
    why="These losses are code of their own that never reads the option. Of the copy generator it could not be "
    "otherwise: it sets the logit of the padding to minus infinity, and smoothing gives every token a share, so that "
    "the smoothed loss would be infinite. The same holds wherever a logit is masked: leave such columns out of the "
    "smoothing.",
    evidence=(
        Maintainer(
            "https://github.com/OpenNMT/OpenNMT-py/blob/97111d9/onmt/utils/loss.py",
            "Only `nn.CrossEntropyLoss` gets `label_smoothing=opt.label_smoothing`; `CopyGeneratorLoss` and "
            "`SparsemaxLoss` do not.",
        ),
        Maintainer(
            "https://github.com/OpenNMT/OpenNMT-py/blob/97111d9/onmt/modules/copy_generator.py",
            "`logits[:, self.pad_idx] = -float('inf')`",
        ),
        Maintainer(
            "https://github.com/linkedin/Liger-Kernel/issues/243",
            "LigerFusedLinearCrossEntropyLoss takes `label_smoothing` and never passes it on, in 0.2.1; 0.3.0 does.",
        ),
        Maintainer(
            "https://github.com/facebookresearch/fairseq/blob/3d262bb/fairseq/criterions/label_smoothed_cross_entropy.py",
            "`label_smoothing` is a field of this criterion alone: with `cross_entropy`, which is the default, "
            "fairseq-train knows no such option and stops.",
        ),
        Maintainer(
            "https://github.com/facebookresearch/pytext/pull/1698",
            "'label smoothing loss is -inf if any logits are -inf' (title only).",
            opened=False,
        ),
    ),
    fix=Fix("{fix}", safety="same training"),
    bad=Example("opennmt.yaml", _YAML.format(smoothing="label_smoothing: 0.1\n")),
    good=Example("opennmt.yaml", _YAML.format(smoothing="")),
    aliases=("LS001",),
    tips=("S0-58",),
    symptoms=("loss is inf", "a setting has no effect", "label smoothing explodes"),
)
_LIGERS_FIRST = (0, 3)
"""The first version of Liger whose fused linear loss hands label smoothing on."""


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for the two losses of OpenNMT-py that leave it out, for fairseq's plain cross entropy, and for Liger's
    fused loss before it took it."""
    if run.document.syntax == "python":
        yield from _of_liger(run)
    yield from _of_fairseq(run)
    smoothing = run.written("label_smoothing") if run.tool == "opennmt" else None
    value = run.value("label_smoothing")
    if smoothing is None or value is None or value <= 0:
        return
    copies, generator = run.written("copy_attn"), run.written("generator_function")
    if copies is not None and str(copies.value).lower() == "true":
        other = "`copy_attn`"
    elif generator is not None and generator.value == "sparsemax":
        other = "`generator_function: sparsemax`"
    else:
        return
    yield RULE.at(
        smoothing,
        edits=(RemoveKey(smoothing.key),),
        value=f"{value:g}",
        other=other,
        fix=f"remove `{smoothing.key}`",
    )


def _of_liger(run: Description) -> Iterator[Diagnosis]:
    if run.at_least("liger-kernel", *_LIGERS_FIRST) is not False:
        return
    for call in calls_of(run, "LigerFusedLinearCrossEntropyLoss"):
        entry = call.arguments.get("label_smoothing")
        value = entry.value if entry is not None else None
        if entry is not None and isinstance(value, float) and value > 0:
            other, fix = f"`{call.name}` before Liger 0.3", "update liger-kernel to 0.3 or later"
            yield RULE.at(entry.place, key=entry.key, value=f"{value:g}", other=other, fix=fix)


def _of_fairseq(run: Description) -> Iterator[Diagnosis]:
    """The option belongs to another criterion than the one in force."""
    keys = ("label-smoothing", "criterion.label_smoothing")
    smoothing = (
        next((each for key in keys if (each := run.written(key))), None) if run.tool == "fairseq" else None
    )
    zero = run.setting("label_smoothing")
    if smoothing is None or zero is None or zero.key == smoothing.key:
        return
    fix = f"set `criterion` to `{SMOOTHED}`{'' if zero.is_written else '; it is cross_entropy by default'}"
    yield RULE.at(smoothing, value=str(smoothing.value), other="`cross_entropy`", fix=fix)
