"""Tables of the keys that each tool knows, one JSON file each, read from its own source by `tools/read_keys.py`."""
