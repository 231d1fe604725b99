"""M305 heads-do-not-divide-width"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_YAML = (
    "data:\n  corpus_1: {{path_src: train.en, path_tgt: train.de}}\n"
    "  valid: {{path_src: dev.en, path_tgt: dev.de}}\n"
    "save_model: out/model\nencoder_type: transformer\ndecoder_type: transformer\nposition_encoding: true\n"
    "hidden_size: 512\nword_vec_size: 512\nlayers: 6\nheads: {heads}\n"
    "batch_type: tokens\nbatch_size: 4096\nnormalization: tokens\n"
)

RULE = Rule(
    code="M305",
    name="heads-do-not-divide-width",
    severity="error",
    message="a width of {width}{default} cannot be split into {heads} heads",
    why="Each head gets the same share of the width; the model refuses to be built.",
    evidence=(
        Maintainer(
            "https://github.com/OpenNMT/OpenNMT-py/blob/97111d9/onmt/modules/multi_headed_attn.py",
            "'Model dimension must be divisible by the number of heads' is asserted.",
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/models/bart/modeling_bart.py",
            "'embed_dim must be divisible by num_heads' is raised.",
        ),
        Maintainer(
            "https://github.com/facebookresearch/fairseq/blob/3d262bb/fairseq/modules/multihead_attention.py",
            "'embed_dim must be divisible by num_heads' is asserted.",
        ),
        Maintainer(
            "https://github.com/awslabs/sockeye/blob/871d986/sockeye/layers.py",
            "'Number of heads (%d) must divide attention depth (%d)' is checked.",
        ),
    ),
    fix=Fix("choose {near} heads, or a width that is a multiple of {heads}"),
    bad=Example("opennmt.yaml", _YAML.format(heads=12)),
    good=Example("opennmt.yaml", _YAML.format(heads=8)),
    tips=("S1-10",),
    symptoms=(
        "Model dimension must be divisible by the number of heads",
        "embed_dim must be divisible by num_heads",
    ),
)
_MOST = 1024
"""Heads that are tried; a file may hold any number."""
_FAMILIES = frozenset(
    {
        "bart",
        "bert",
        "blenderbot",
        "gpt2",
        "gptj",
        "gpt_neo",
        "m2m_100",
        "marian",
        "mbart",
        "opt",
        "pegasus",
        "trocr",
    }
)
"""Families of transformers whose code checks it, and that have no width of a head of its own."""


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for the transformers of four toolkits and for models of those families."""
    width, heads = run.setting("hidden_size"), run.setting("heads")
    if width is None or heads is None or width.value <= 0 or heads.value <= 0:
        return
    is_checked = run.tool in ("opennmt", "marian", "sockeye", "fairseq") or (
        run.kind == "model-config" and run.value("model_family") in _FAMILIES
    )
    if is_checked and width.value % heads.value:
        yield RULE.at(
            heads if heads.is_written else width,
            width=width.value,
            default="" if width.is_written else " (the default)",
            heads=heads.value,
            near=_near(width.value, heads.value),
        )


def _near(width: int, heads: int) -> int:
    """The divisor of the width that is nearest to the number of heads, from below first."""
    fitting = [count for count in range(1, min(width, 4 * heads, _MOST) + 1) if width % count == 0]
    return min(fitting, key=lambda count: (abs(count - heads), count))
