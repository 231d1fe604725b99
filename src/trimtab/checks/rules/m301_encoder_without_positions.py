"""M301 encoder-without-positions"""

from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer, Paper
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import root
from trimtab.checks.read.flow.slices import plain
from trimtab.checks.read.flow.values import Event, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.setting import Setting

_YAML = (
    "data:\n  corpus_1: {{path_src: train.en, path_tgt: train.de}}\n"
    "  valid: {{path_src: dev.en, path_tgt: dev.de}}\n"
    "save_model: out/model\nencoder_type: transformer\ndecoder_type: transformer\n"
    "hidden_size: 512\nword_vec_size: 512\n{positions}"
    "batch_type: tokens\nbatch_size: 4096\nnormalization: tokens\n"
)

RULE = Rule(
    code="M301",
    name="encoder-without-positions",
    severity="error",
    message="the encoder gets no positions{how}: to it a sentence is a bag of words",
    why="Attention in both directions gives the same for every order of its input. Causal decoders can tell "
    "positions by what they do not see; an encoder can't.",
    evidence=(
        Arithmetic(
            "softmax(Q K^T) V with rows of Q, K and V in another order is the same result in that order: "
            "nothing in an encoder without positions depends on where a token stands."
        ),
        Paper(
            "https://arxiv.org/abs/2408.11382v1",
            "'models trained without Positional Embeddings (NoPE) are not a viable solution for "
            "Encoder-Decoder architectures, as they consistently under-perform'.",
        ),
        Maintainer(
            "https://github.com/OpenNMT/OpenNMT-py/blob/97111d9/onmt/opts.py",
            "`--position_encoding`: 'Necessary for non-RNN style models'; off unless written.",
        ),
        Maintainer(
            "https://github.com/Helsinki-NLP/mammoth/blob/dea5665/mammoth/model_builder.py",
            "`max_seq_len` is 0 where `max_length` is unset; x-transformers then leaves the absolute "
            "positions out.",
        ),
    ),
    fix=Fix("{fix}"),
    bad=Example("opennmt.yaml", _YAML.format(positions="")),
    good=Example("opennmt.yaml", _YAML.format(positions="position_encoding: true\n")),
    aliases=("POS001",),
    tips=("S0-94", "S1-11", "S3-15"),
    symptoms=(
        "word order is wrong",
        "BLEU stays low",
        "one phrase for every input",
        "word order does not matter to the model",
        "shuffled words give the same output",
    ),
)
_POSITIONS = (
    "rotary_pos_emb",
    "rotary_xpos",
    "polar_pos_emb",
    "alibi_pos_bias",
    "rel_pos_bias",
    "dynamic_pos_bias",
)
"""Options of x-transformers that tell positions inside attention."""


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where the tool's own rules leave none."""
    if run.tool == "mammoth":
        yield from _of_mammoth(run)
        return
    if run.document.syntax == "python":
        yield from _of_modules(run)
    positions = run.setting("positions")
    if positions is None or positions.value != "none" or run.value("encoder_decoder") is not True:
        return
    if run.tool == "opennmt":
        encoder = run.written("encoder_type")
        if encoder is None or encoder.value not in ("transformer", "transformer_lm"):
            return
        how = "" if positions.is_written else " (`position_encoding` is off by default)"
        fix = "set `position_encoding: true`, or `max_relative_positions: -1` for rotary"
        yield RULE.at(positions if positions.is_written else encoder, how=how, fix=fix)
    else:
        yield RULE.at(positions, how="", fix="choose sinusoidal, learned or rotary positions")


def _of_modules(run: Description) -> Iterator[Diagnosis]:
    """An encoder of torch.nn whose input is the embedding of tokens, scaled or dropped out, and nothing else."""
    if not says(run.document, "TransformerEncoder(", "nn.Transformer("):
        return
    for event in flow_of(run.document).named("__call__"):
        module = root(event.value.of)
        if module is None or module.name not in ("torch.nn.TransformerEncoder", "torch.nn.Transformer"):
            continue
        embedding = _looked_up(event.value.argument(0, "src"))
        if embedding is not None and not _is_causal(event):
            fix = "add positions to the embeddings: sinusoidal or learned ones"
            yield RULE.at(event.place, severity="warning", how="", fix=fix)
            return


def _looked_up(value: Value | None) -> Value | None:
    """The lookup in a torch.nn.Embedding that a value is, behind a factor, a transposition or a dropout."""
    for _ in range(8):
        value = plain(value)
        if value is None:
            return None
        if value.made == "binary" and value.name == "*":
            factors = [
                each for each in value.args if each.made == "call" and each.last not in ("sqrt", "pow")
            ]
            value = factors[0] if len(factors) == 1 else None
            continue
        module = root(value.of) if value.made == "call" and value.name == "__call__" else None
        if module is None or module.made != "call":
            return None
        if module.name == "torch.nn.Embedding":
            is_of_positions = any(each.last == "arange" for each in walk(value, most=20))
            return None if is_of_positions else value
        if module.name != "torch.nn.Dropout" or not value.args:
            return None
        value = value.args[0]
    return None


def _is_causal(event: Event) -> bool:
    """Whether it may get a causal mask, by which it can tell positions."""
    call = event.value
    return (
        call.has_rest or len(call.args) > 1 or bool({"mask", "src_mask", "is_causal"} & call.keywords.keys())
    )


def _of_mammoth(run: Description) -> Iterator[Diagnosis]:
    tasks, length = run.written("tasks"), run.written("max_length")
    if tasks is None or (length is not None and length.value not in (None, 0)):
        return
    if run.written("position_encoding") is not None and run.at_least("mammoth-nlp", 0, 2, 1) is not True:
        return  # a file of an older Mammoth, which had that key
    options = {name: run.written(f"x_transformers_opts.{name}") for name in _POSITIONS}
    if any(setting is not None and setting.value is not False for setting in options.values()):
        return
    where: Setting = run.written("x_transformers_opts") or run.written("model_dim") or tasks
    how = " (`max_length` is unset, which switches absolute positions off)"
    yield RULE.at(where, how=how, fix="set `rotary_pos_emb: true` in `x_transformers_opts`")
