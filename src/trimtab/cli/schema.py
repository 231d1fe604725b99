"""`trimtab schema`: the JSON Schema of recipes."""

import json

import typer


def schema() -> None:
    """Print the JSON Schema of recipes, for editors."""
    from trimtab.config.schema import recipe_schema

    typer.echo(json.dumps(recipe_schema(), indent=2, ensure_ascii=False))
