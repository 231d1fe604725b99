"""Marian, Sockeye and fairseq: what their options mean, on command lines and in YAML."""
