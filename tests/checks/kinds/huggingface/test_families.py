from tests.for_each import for_each
from trimtab.checks.kinds.huggingface.families import FAMILIES


@for_each("family", sorted(FAMILIES))
def test_families_are_told_in_the_concepts_words(family):
    facts = FAMILIES[family]
    assert facts["norm"] in ("layer_norm", "rms_norm")
    assert facts.get("norm_placement", "pre") in ("pre", "post")
    assert facts.get("positions", "none") in ("learned", "sinusoidal", "relative", "rotary", "alibi", "none")
