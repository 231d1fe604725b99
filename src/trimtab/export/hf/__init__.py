"""`--to hf`: Pegasus and MarianMT for translators, Llama and Qwen3 for decoders, as transformers loads them."""
