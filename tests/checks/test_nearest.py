from hypothesis import assume, given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.checks.nearest import likeness, nearest


@for_each(
    ("word", "allowed", "meant"),
    [
        ("weight_deacy", ["weight_decay", "warmup_ratio"], "weight_decay"),
        ("use_reentrent", ["use_reentrant", "offload"], "use_reentrant"),
        ("lora_rank", ["lora_r", "lora_alpha"], "lora_r"),
        ("lr", ["learning_rate", "lora_r"], "learning_rate"),
        ("LEARNING-RATE", ["learning_rate"], "learning_rate"),
        ("cosin", ["linear", "cosine"], "cosine"),
        ("stf", ["pt", "sft", "rm", "ppo", "dpo", "kto"], "sft"),
        ("dop", ["pt", "sft", "rm", "ppo", "dpo", "kto"], "dpo"),
        ("latency-weight-avg", ["latency-avg-weight", "avg"], "latency-avg-weight"),
        ("lr", ["rl"], ""),
        ("entirely_else", ["learning_rate", "seed"], ""),
        ("anything", [], ""),
    ],
)
def test_the_word_that_was_meant_is_found_by_idea_then_by_letters(word, allowed, meant):
    assert nearest(word, allowed) == meant


@given(st.text(max_size=20), st.text(max_size=20))
def test_likeness_is_a_share_and_full_for_the_same_word(one, other):
    assert 0 <= likeness(one, other) <= 1
    assert likeness(one, one) == 1 or one == ""


@given(st.text(max_size=10), st.lists(st.text(max_size=10), max_size=5))
def test_only_an_allowed_word_is_told(word, allowed):
    assert nearest(word, allowed) in (*allowed, "")


@given(st.text("abcdefgh", min_size=3, max_size=12), st.data())
def test_a_swap_of_neighbours_is_as_near_as_one_slip(word, data):
    at = data.draw(st.integers(0, len(word) - 2))
    swapped = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    assert nearest(swapped, [word]) == word


def by_likeness_alone(word, allowed, cutoff):
    best = max(allowed, key=lambda each: likeness(word, each), default="")
    return best if best and likeness(word, best) >= cutoff else ""


WORDS = st.text("abcde_-ABéŁĺ1", max_size=8)


@given(WORDS, st.lists(WORDS, max_size=8), st.sampled_from((0.5, 0.7, 0.8)))
def test_words_that_are_passed_over_unseen_would_not_have_been_told(word, allowed, cutoff):
    parts = [sorted(each.lower().replace("-", "_").split("_")) for each in (word, *allowed)]
    assume(parts[0] not in parts[1:])  # the same parts in another order are told as well
    assert nearest(word, allowed, cutoff=cutoff) == by_likeness_alone(word, allowed, cutoff)
