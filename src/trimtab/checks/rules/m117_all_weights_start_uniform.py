"""M117 all-weights-start-uniform"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.own_key import is_unset
from trimtab.checks.place import Place
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.setting import Setting

RULE = Rule(
    code="M117",
    name="all-weights-start-uniform",
    severity="warning",
    message="every weight of this transformer, the gains of its norms too, starts as a random number "
    "{bounds}{because}",
    why="Gains of layer norms should start at 1. Near 0, and half of them negative, they shrink what every "
    "sub-layer gets to a twentieth, and a transformer trains badly or not at all from there. The option is "
    "meant for recurrent networks.",
    evidence=(
        Maintainer(
            "https://github.com/OpenNMT/OpenNMT-py/blob/97111d9/onmt/model_builder.py",
            "`if model_opt.param_init != 0.0` fills all parameters uniformly; `elif "
            "model_opt.param_init_glorot`: Glorot is only done where param_init is 0. The default is 0.1.",
        ),
        Maintainer(
            "https://github.com/OpenNMT/OpenNMT-py/blob/97111d9/docs/source/FAQ.md",
            '"`param_init_glorot` & `param_init 0`: correct initialization of parameters".',
        ),
        Maintainer(
            "https://github.com/eole-nlp/eole/blob/ce7139c/eole/models/model.py",
            "init_weights: `uniform`, the default method, fills all parameters; the recipes set "
            "xavier_uniform.",
        ),
    ),
    fix=Fix("{way}"),
    bad=Example(
        "onmt.yaml",
        "save_model: run/model\ndata:\n  corpus: {path_src: a.en, path_tgt: a.de}\nsrc_vocab: "
        "v.src\ntgt_vocab: v.tgt\nencoder_type: transformer\ndecoder_type: transformer\nposition_encoding: "
        "true\nhidden_size: 512\nword_vec_size: 512\nparam_init_glorot: true\noptim: adam\nlearning_rate: "
        "2\ndecay_method: noam\nwarmup_steps: 4000\ntrain_steps: 100000\n",
    ),
    good=Example(
        "onmt.yaml",
        "save_model: run/model\ndata:\n  corpus: {path_src: a.en, path_tgt: a.de}\nsrc_vocab: "
        "v.src\ntgt_vocab: v.tgt\nencoder_type: transformer\ndecoder_type: transformer\nposition_encoding: "
        "true\nhidden_size: 512\nword_vec_size: 512\nparam_init: 0\nparam_init_glorot: true\noptim: "
        "adam\nlearning_rate: 2\ndecay_method: noam\nwarmup_steps: 4000\ntrain_steps: 100000\n",
    ),
    aliases=("INIT001",),
    tips=("S2-24",),
    symptoms=(
        "loss flat",
        "learns nothing",
        "loss falls slowly",
        "outputs the same sentence for every input",
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires on whole training files of transformers that start from random numbers."""
    if run.tool == "opennmt":
        yield from _opennmt(run)
    elif run.tool == "eole":
        yield from _eole(run)


def _opennmt(run: Description) -> Iterator[Diagnosis]:
    decoder, spread = run.written("decoder_type"), run.written("param_init")
    is_training = run.written("save_model") is not None and run.written("train_steps") is not None
    begun, tokens = run.written("train_from"), run.written("param_init_glorot")
    if decoder is None or decoder.value != "transformer" or not is_training or (begun and begun.value):
        return
    if spread is None and not is_unset(run, "param_init"):
        return
    size = 0.1 if spread is None else spread.value
    if not isinstance(size, int | float) or isinstance(size, bool) or size == 0:
        return
    glorot = tokens is not None and str(tokens.value).lower() == "true"
    because = "; `param_init_glorot` is not read while `param_init` is not 0" if glorot else ""
    yield _found(
        spread or tokens or decoder, size, because, "set `param_init: 0` and `param_init_glorot: true`"
    )


def _eole(run: Description) -> Iterator[Diagnosis]:
    training, method = run.written("training"), run.written("training.param_init_method")
    is_transformer = any(
        setting is not None and setting.value in ("transformer", "transformer_lm")
        for setting in (
            run.written("model.architecture"),
            run.written("model.decoder.decoder_type"),
        )
    )
    legacy = run.written("training.param_init_glorot")
    if training is None or not is_transformer or run.value("from_scratch") is not True or legacy is not None:
        return
    if run.written("training.train_steps") is None or (method is not None and method.value != "uniform"):
        return
    spread = run.written("training.param_init")
    size = 0.1 if spread is None else spread.value
    if isinstance(size, int | float) and not isinstance(size, bool):
        yield _found(method or spread or training, size, "", "set `param_init_method: xavier_uniform`")


def _found(where: Setting | Place, size: float, because: str, way: str) -> Diagnosis:
    bounds = f"between -{size:g} and {size:g}" if size else "0, all of them"
    return RULE.at(where, bounds=bounds, because=because, way=way)
