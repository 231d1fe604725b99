"""Pretrained models as files: where they are, and what their settings say; read without torch."""
