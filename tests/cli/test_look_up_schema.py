import json

from trimtab.config.reference import recipe_schema


def test_the_schema_is_printed_as_json(call):
    result = call("schema")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == json.loads(json.dumps(recipe_schema()))
