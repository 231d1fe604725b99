import json

from trimtab.config.places import known_keys
from trimtab.config.reference import recipe_schema


def test_the_schema_is_json_and_says_what_it_is():
    schema = json.loads(json.dumps(recipe_schema()))
    assert schema["$schema"].startswith("https://json-schema.org/")
    assert schema["$id"] == "urn:trimtab:recipe"
    assert schema["title"] == "trimtab recipe"
    assert schema["required"] == ["data", "model", "length"]


def test_every_key_is_in_the_schema():
    names = set()
    schema = recipe_schema()
    for part in [schema, *schema["$defs"].values()]:
        names |= set(part.get("properties", {}))
    assert {key.rpartition(".")[2] for key in known_keys()} == names


def test_unknown_keys_are_wrong_and_keys_are_explained():
    schema = recipe_schema()
    assert all(part["additionalProperties"] is False for part in schema["$defs"].values())
    step = schema["$defs"]["StepConfig"]["properties"]
    assert step["tokens_per_step"]["description"].startswith("Target tokens that count in the loss")


def test_one_validation_set_may_stand_alone():
    valid = recipe_schema()["$defs"]["DataConfig"]["properties"]["valid"]
    assert valid["anyOf"][0] == {"$ref": "#/$defs/ValidFiles"}
    assert valid["anyOf"][1]["additionalProperties"] == {"$ref": "#/$defs/ValidFiles"}


def test_a_corpus_has_two_sides_or_a_text_in_one_language():
    corpus = recipe_schema()["$defs"]["TrainCorpus"]
    assert corpus["anyOf"] == [{"required": ["source", "target"]}, {"required": ["text"]}]
    assert "required" not in corpus
