"""Pretrained models whose layers are modules of Hugging Face's transformers, behind the interface of trimtab's own."""
