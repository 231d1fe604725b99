"""Names of weights in transformers' models: linear maps by the names that PEFT's users give those of Llama, and the
weights of trimtab's own decoder by their names in Llama."""

from collections.abc import Mapping

from trimtab.config.adapter import Target

ENDINGS: Mapping[str, Target] = {
    "q_proj": "q_proj", "q": "q_proj", "query": "q_proj", "q_lin": "q_proj",
    "k_proj": "k_proj", "k": "k_proj", "key": "k_proj", "k_lin": "k_proj",
    "v_proj": "v_proj", "v": "v_proj", "value": "v_proj", "v_lin": "v_proj",
    "out_proj": "o_proj", "o": "o_proj", "attention.output.dense": "o_proj", "out_lin": "o_proj",
    "wi_0": "gate_proj",
    "fc1": "up_proj", "wi": "up_proj", "wi_1": "up_proj", "intermediate.dense": "up_proj", "lin1": "up_proj",
    "fc2": "down_proj", "wo": "down_proj", "output.dense": "down_proj", "lin2": "down_proj",
    "o_proj": "o_proj", "gate_proj": "gate_proj", "up_proj": "up_proj", "down_proj": "down_proj",
    "c_attn": "q_proj", "qkv_proj": "q_proj", "query_key_value": "q_proj", "gate_up_proj": "gate_proj",
    "attn.c_proj": "o_proj", "attention.dense": "o_proj", "self_attn.dense": "o_proj",
    "c_fc": "up_proj", "dense_h_to_4h": "up_proj", "mlp.c_proj": "down_proj", "dense_4h_to_h": "down_proj",
}  # fmt: skip
"""How the names of linear maps end in Marian, Pegasus, BART, M2M100 and OPT, in T5, in BERT and RoBERTa, in DistilBERT,
in Gemma, SmolLM3 and OLMo 2, and in GPT-2, Phi, GPT-NeoX and StarCoder2; the longest ending that fits is meant. Where
one map is several of Llama's, it goes by the first of their names."""


def target_of(path: str) -> Target | None:
    """What a linear map is, by its name in a layer; None where no family has such a one."""
    found = [ending for ending in ENDINGS if path == ending or path.endswith(f".{ending}")]
    return ENDINGS[max(found, key=len)] if found else None


PARTS: Mapping[str, str] = {
    "model.embed_tokens": "embedding",
    "model.norm": "decoder.norm",
    "lm_head": "output",
}
"""Outside the layers, in Llama and in trimtab's own decoder."""
PARTS_OF_LAYER: Mapping[str, str] = {
    "input_layernorm": "norm_attention", "post_attention_layernorm": "norm_feed_forward",
    "self_attn": "attention", "self_attn.o_proj": "attention.out",
    "self_attn.q_norm": "attention.norm_queries", "self_attn.k_norm": "attention.norm_keys",
    "mlp": "feed_forward", "mlp.down_proj": "feed_forward.down",
}  # fmt: skip
"""Inside one; projections of queries, keys and values, and those of gate and up, share a matrix in trimtab."""
ENDS = ("weight", "bias", "*")


def own_patterns(pattern: str, *, tied: bool) -> tuple[str, ...]:
    """A pattern over names of weights in Llama, as patterns over those of trimtab's own decoder; none where no weight
    there is this one alone. With `tied` the output is the embeddings."""
    names = pattern.split(".")
    end = [names.pop()] if names[-1] in ENDS else []
    if names == ["model"]:
        return ("embedding.*", "decoder.*")
    if names[:2] == ["model", "layers"]:
        number, part = names[2:3], ".".join(names[3:])
        if part and part not in PARTS_OF_LAYER:
            return ()
        inner = [PARTS_OF_LAYER[part]] if part else []
        return (".".join(["decoder.blocks", *number, *inner, *end]),)
    own = PARTS.get(".".join(names))
    if own is None:
        return ()
    return (".".join(["embedding" if own == "output" and tied else own, *end]),)
