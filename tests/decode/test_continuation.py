import json

from trimtab.decode.continuation import Continuation


def test_as_plain_data_it_has_the_text_and_why_it_ends():
    found = Continuation(line=2, sample=1, prompt="The", text=" ship", num_tokens=3, stopped="end",
                         log_probability=-2.5, repeated=0.0, whole="The ship")  # fmt: skip
    assert json.loads(json.dumps(found.to_dict())) == {
        "line": 2, "sample": 1, "prompt": "The", "text": " ship", "tokens": 3, "stopped": "end",
        "log_probability": -2.5, "repeated": 0.0,
    }  # fmt: skip
