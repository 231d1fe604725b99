"""M118 key-bias-without-effect"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="M118",
    name="key-bias-without-effect",
    severity="note",
    message="`{key}` gives queries, keys and values a bias, and that of the keys changes nothing",
    why="It adds the same number to all scores of a query, which softmax cancels. It gets no gradient but "
    "rounding noise and weight decay, and in long runs of large models it can drift. Biases of queries "
    "and values do something; whether they help is open.",
    evidence=(
        Arithmetic(
            "q (k_j + b) = q k_j + q b, and q b does not depend on j: softmax over j is the same. With "
            "rotary positions b is turned with j, and this does not hold."
        ),
    ),
    fix=Fix("remove it, unless a pretrained model has it"),
    bad=Example(
        "onmt.yaml",
        "save_model: run/model\ndata:\n  corpus: {path_src: a.en, path_tgt: a.de}\nsrc_vocab: "
        "v.src\ntgt_vocab: v.tgt\nencoder_type: transformer\ndecoder_type: transformer\nposition_encoding: "
        "true\nhidden_size: 512\nword_vec_size: 512\nadd_qkvbias: true\nparam_init: 0\nparam_init_glorot: "
        "true\ntrain_steps: 100000\noptim: adam\nlearning_rate: 2\ndecay_method: noam\n",
    ),
    good=Example(
        "onmt.yaml",
        "save_model: run/model\ndata:\n  corpus: {path_src: a.en, path_tgt: a.de}\nsrc_vocab: "
        "v.src\ntgt_vocab: v.tgt\nencoder_type: transformer\ndecoder_type: transformer\nposition_encoding: "
        "true\nhidden_size: 512\nword_vec_size: 512\nparam_init: 0\nparam_init_glorot: true\ntrain_steps: "
        "100000\noptim: adam\nlearning_rate: 2\ndecay_method: noam\n",
    ),
    aliases=("BIAS001",),
    tips=("S4-12", "S0-80"),
    symptoms=("key bias grows",),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for models from scratch whose positions are known not to be rotary."""
    positions = run.value("positions")
    if run.value("from_scratch") is not True or positions is None or positions == "rotary":
        return
    for start in ("", "model.", "model.encoder.", "model.decoder."):
        bias, of_keys = run.written(start + "add_qkvbias"), run.written(start + "add_key_bias")
        if bias is not None and bias.value is True and (of_keys is None or of_keys.value is not False):
            yield RULE.at(bias)
            return
