"""From the description of a run to the text of a recipe.

draft            lines with comments; which settings they account for
step             step, length, evaluation, checkpoints, seed: the same for every task
rates            optimizers and schedules, with the arithmetic of those that are expressed in another way
corpora          files, tokenizer and filters of translation tools
model            the shape of a translation model
translation      a translation recipe
tasks            what no recipe can say
language_model   a recipe that fine-tunes a language model
classification   a recipe that fine-tunes an encoder to classify texts
freezing         weights that a script freezes
"""
