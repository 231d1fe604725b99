from trimtab.decode.continuation import Continuation
from trimtab.decode.tally import Tally


def text(tokens, stopped="end", repeated=0.0) -> Continuation:
    return Continuation(line=1, sample=1, prompt="", text="", num_tokens=tokens, stopped=stopped, log_probability=0.0,
                        repeated=repeated, whole="")  # fmt: skip


def told(*texts) -> str:
    tally = Tally()
    for each in texts:
        tally.add(each)
    return tally.render()


def test_one_text_and_several_and_none():
    assert told(text(7)) == "1 text, 7 tokens: 1 came to an end; 0% of 4-grams repeated"
    assert told(text(30), text(10, "max_tokens", 0.2), text(60, "window")) == (
        "3 texts, 100 tokens: 1 came to an end, 1 stopped at --max-tokens, 1 stopped where the model can read no more; "
        "2% of 4-grams repeated"
    )
    assert told(text(1)).startswith("1 text, 1 token: ")
    assert told() == "0 texts, 0 tokens"


def test_loops_are_named_with_what_helps():
    assert told(text(10, repeated=0.9)).endswith(
        "90% of 4-grams repeated\n"
        "it goes round in a loop: raise --temperature, or train the model longer or on more text"
    )
    assert "\n1 of them go round in a loop" in told(text(10), text(10, repeated=0.5))
