"""Maps TrainingArguments, LoraConfig, from_pretrained and similar calls to `concepts`."""
