"""`--to torch_export`: language models as one program that PyTorch alone runs."""
