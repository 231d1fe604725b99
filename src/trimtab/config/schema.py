"""The JSON Schema of recipes, for editors that complete and check while one types."""

from typing import Any

from trimtab.config.run import Recipe

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def recipe_schema() -> dict[str, Any]:
    """Draft 2020-12. It allows all that trimtab allows and a little more: checks across keys are not in it."""
    schema = Recipe.model_json_schema()
    data = schema["$defs"]["DataConfig"]["properties"]
    data["valid"] = {
        "anyOf": [{"$ref": "#/$defs/ValidFiles"}, {"type": "object", **data["valid"]}],
        "description": data["valid"].pop("description"),
    }
    # `text` stands for both.
    for files in ("TrainCorpus", "ValidFiles"):
        sides = schema["$defs"][files].pop("required")
        schema["$defs"][files]["anyOf"] = [{"required": sides}, {"required": ["text"]}]
    model = schema["$defs"]["EncoderDecoderModel"]
    model["properties"]["layers"] = {
        "type": "integer",
        "minimum": 1,
        "description": "Encoder and decoder layers, where they are not given apart.",
    }
    return {"$schema": DIALECT, "$id": "urn:trimtab:recipe", **schema, "title": "trimtab recipe"}
