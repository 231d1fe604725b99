"""M302 two-kinds-of-positions"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer, Paper
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_YAML = (
    "data:\n  corpus_1: {{path_src: train.en, path_tgt: train.de}}\n"
    "  valid: {{path_src: dev.en, path_tgt: dev.de}}\n"
    "save_model: out/model\nencoder_type: transformer\ndecoder_type: transformer\n"
    "hidden_size: 512\nword_vec_size: 512\nposition_encoding: {absolute}\nmax_relative_positions: -1\n"
    "batch_type: tokens\nbatch_size: 4096\nnormalization: tokens\n"
)

RULE = Rule(
    code="M302",
    name="two-kinds-of-positions",
    severity="error",
    message="{one} and {other} are both on: {outcome}",
    why="Together they can train well, but few tools mean it: some refuse, and in others the second is left "
    "over from another configuration.",
    evidence=(
        Maintainer(
            "https://github.com/OpenNMT/OpenNMT-py/blob/97111d9/onmt/utils/parse.py",
            "'Cannot use absolute and relative position encoding at the same time' is raised.",
        ),
        Maintainer(
            "https://github.com/lucidrains/x-transformers/blob/9252ed7/x_transformers/x_transformers.py",
            "`disable_abs_pos_emb` follows from rotary, polar and T5's bias; ALiBi leaves the absolute table "
            "on.",
        ),
        Paper(
            "https://arxiv.org/abs/2212.05830",
            "P-Transformer has absolute and relative positions together and gains from both.",
        ),
    ),
    fix=Fix("{fix}"),
    bad=Example("opennmt.yaml", _YAML.format(absolute="true")),
    good=Example("opennmt.yaml", _YAML.format(absolute="false")),
    aliases=("POS002",),
    tips=("S0-09", "S0-10"),
    symptoms=("Cannot use absolute and relative position encoding",),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """An error where the tool refuses, a note where both are added up."""
    if run.tool == "opennmt":
        absolute, relative = run.written("position_encoding"), run.written("max_relative_positions")
        if absolute is None or relative is None or absolute.value is not True:
            return
        if type(relative.value) is int and relative.value != 0:
            yield RULE.at(
                relative,
                one="`position_encoding`",
                other="`max_relative_positions`",
                outcome="the tool refuses",
                fix="set one of them to false or 0",
            )
    elif run.tool == "mammoth":
        yield from _of_mammoth(run)


def _of_mammoth(run: Description) -> Iterator[Diagnosis]:
    linear, length = run.written("x_transformers_opts.alibi_pos_bias"), run.written("max_length")
    table = run.written("x_transformers_opts.use_abs_pos_emb")
    if linear is None or linear.value is not True or length is None or not length.value:
        return
    if table is None or table.value is not False:
        yield RULE.at(
            linear,
            severity="note",
            one="ALiBi",
            other="a table of absolute positions",
            outcome="they are added up",
            fix="set `use_abs_pos_emb: false` in `x_transformers_opts` if ALiBi alone is meant",
        )
