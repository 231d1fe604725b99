"""Axolotl: the models of its configuration, and what its plugins add."""

from typing import Any

from key_readers.pydantic_models import Models
from key_readers.tree import Tree

SCHEMAS = "src/axolotl/utils/schemas"
PLUGINS = "src/axolotl/integrations"
QUANTIZED = ("int4", "int8", "float8_e4m3fn", "fp8", "float8", "nvfp4", "mxfp4")
"""Texts for which `TorchAOQuantDType.from_string` has a type; some of its members are types of torch."""


def read(trees: list[Tree]) -> dict[str, Any]:
    """`axolotl`: one version. Keys that it does not know vanish without a word."""
    tree = trees[-1]
    files = [str(path.relative_to(tree.folder)) for path in sorted((tree.folder / SCHEMAS).rglob("*.py"))]
    plugins = [
        str(path.relative_to(tree.folder)) for path in sorted((tree.folder / PLUGINS).glob("*/args.py"))
    ]
    models = Models(tree.module(*files, *plugins), {"TorchAOQuantDType": {name: name for name in QUANTIZED}})
    arguments = [name for name in models.classes if name.endswith("Args") or name == "SwanLabConfig"]
    keys = {**models.rows(*arguments), **models.rows("AxolotlConfigWCapabilities")}
    return {
        "axolotl": {
            "tool": "axolotl",
            "library": "axolotl",
            "version": tree.version,
            "source": f"axolotl {tree.version}: {SCHEMAS}, {PLUGINS}/*/args.py",
            "unknown_keys": "dropped",
            "keys": keys,
        }
    }
