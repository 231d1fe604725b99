"""How TrainingArguments, LoraConfig, from_pretrained and their like are told in the words of `concepts`."""
