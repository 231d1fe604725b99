"""The shapes in which pairs are kept on disk: two aligned files, TSV, JSONL."""
