"""The terms to which every configuration is mapped, so that a rule is written once; each has one meaning and type."""

from trimtab.checks.record import record


@record
class Concept:
    """A word of the description."""

    type: type
    meaning: str


def _(type: type, meaning: str) -> Concept:
    return Concept(type, meaning)


CONCEPTS: dict[str, Concept] = {
    # what is trained
    "task": _(
        str,
        "translation, language_model, seq2seq, vision_text (TrOCR and its like), preference, reward, pretrain",
    ),
    "model_name": _(str, "hub name or path of the pretrained model"),
    "model_family": _(
        str, "`model_type` in transformers' words: t5, llama, marian, m2m_100, trocr, gemma2, ..."
    ),
    "from_scratch": _(bool, "whether weights start from random numbers"),
    "encoder_decoder": _(bool, "whether it has an encoder and a decoder"),
    "hidden_size": _(int, "width of the residual stream"),
    "layers": _(int, "layers of the decoder; of an encoder-decoder those of one side"),
    "encoder_layers": _(int, "layers of the encoder, where a tool gives each side its own number"),
    "heads": _(int, "query heads"),
    "kv_heads": _(int, "key and value heads"),
    "feed_forward": _(int, "inner width of the feed-forward sub-layer"),
    "vocab_size": _(int, "rows of the embedding table"),
    "tied_embeddings": _(bool, "whether input and output embeddings are one matrix"),
    "norm": _(str, "layer_norm or rms_norm"),
    "norm_placement": _(str, "pre or post"),
    "positions": _(str, "learned, sinusoidal, relative, rotary, alibi, none"),
    "activation": _(str, "of the feed-forward blocks: relu, gelu, silu, gated-silu, ..."),
    "dropout": _(float, "dropout of the model, 0 to 1"),
    "attention_dropout": _(float, "dropout on attention weights"),
    "parameters_billion": _(float, "size of the model, from its name (`-7b`) or its config"),
    "attention_kernel": _(str, "eager, sdpa, flash_attention_2, flash_attention_3, flex_attention, ..."),
    # precision
    "autocast": _(str, "bf16, fp16 or none: mixed precision over fp32 or whatever was loaded"),
    "weights_dtype": _(
        str, "dtype of trainable weights: fp32, bf16, fp16, or auto (as stored in the checkpoint)"
    ),
    "stochastic_rounding": _(
        bool, "whether updates of half-precision weights are rounded stochastically or compensated"
    ),
    "tf32": _(bool, "TF32 matrix products"),
    "fp8": _(bool, "fp8 matrix products"),
    "quantization_bits": _(int, "bits of the frozen base weights: 4 or 8; absent where not quantised"),
    # optimizer
    "optimizer": _(
        str,
        "normalised: adamw, adam, adafactor, sgd, lion, muon, galore, apollo, lomo, rmsprop, adagrad, came, ...",
    ),
    "optimizer_variant": _(
        str, "the tool's own name: adamw_torch_fused, paged_adamw_8bit, ao_adamw_4bit, ..."
    ),
    "optimizer_bits": _(int, "bits of the optimizer's state: 4, 8, 16 or 32"),
    "optimizer_paged": _(bool, "whether its state may be paged to host memory"),
    "learning_rate": _(float, "as configured; of `noam` a factor, see `schedule`"),
    "weight_decay": _(float, "decoupled weight decay"),
    "beta1": _(float, "Adam's first decay rate"),
    "beta2": _(float, "Adam's second decay rate"),
    "epsilon": _(float, "Adam's epsilon"),
    "relative_step": _(bool, "Adafactor's relative_step"),
    "scale_parameter": _(bool, "Adafactor's scale_parameter"),
    "clip_threshold": _(float, "Adafactor's update clipping; None means off and counts as absent"),
    "clip": _(float, "largest gradient norm; 0 is off"),
    "schedule": _(
        str,
        "linear, cosine, constant, constant_with_warmup, inverse_sqrt, noam, rsqrt, exponential, none, ...",
    ),
    "warmup_steps": _(int, "optimizer steps of warm-up; 0 is none"),
    "warmup_ratio": _(float, "the same as a share of the length, 0 to 1"),
    # batch and length
    "micro_batch": _(int, "examples (or tokens, see batch_unit) on one device at once"),
    "batch_unit": _(str, "examples or tokens"),
    "accumulation": _(int, "micro-batches in a step"),
    "devices": _(int, "processes that train data-parallel"),
    "synchronous": _(bool, "whether all devices wait for one another at each step"),
    "global_batch": _(int, "examples (or tokens) in a step on all devices, where configured as one number"),
    "steps": _(int, "optimizer steps; absent where the length is in epochs"),
    "epochs": _(float, "epochs; absent where steps decide"),
    "tokens": _(int, "target tokens after which the run ends"),
    "sequence_length": _(int, "longest sequence in tokens"),
    "packing": _(bool, "whether several documents share one sequence"),
    "packing_isolated": _(bool, "whether packed documents cannot see each other"),
    "group_by_length": _(bool, "batches of similar length"),
    "batch_finder": _(bool, "halves the batch until it fits"),
    "loss_normalization": _(str, "tokens or examples: what the loss of a step is divided by"),
    # loss and regularisation
    "label_smoothing": _(float, "0 to 1"),
    "neftune_alpha": _(float, "NEFTune's noise"),
    "loss_on_prompt": _(bool, "whether prompts count in the loss"),
    "fused_loss": _(str, "liger, cut_cross_entropy, chunked: an implementation that replaces cross entropy"),
    # memory
    "gradient_checkpointing": _(bool, "activations are computed again in backward"),
    "use_reentrant": _(bool, "the reentrant kind of it"),
    "compile": _(bool, "torch.compile"),
    "deepspeed": _(bool, "whether DeepSpeed runs it"),
    "zero_stage": _(int, "ZeRO stage"),
    "offload": _(bool, "optimizer or parameters offloaded to the host"),
    "fsdp": _(int, "1 or 2: version of FSDP"),
    "wrapped_layers": _(list, "classes whose objects FSDP shards one by one"),
    "sharded": _(bool, "whether the launcher's file has DeepSpeed, FSDP or Megatron hold the weights"),
    # adapters
    "adapter": _(str, "lora, qlora, oft, ...; `none` for full training"),
    "lora_rank": _(int, "r"),
    "lora_alpha": _(float, "alpha"),
    "lora_dropout": _(float, "dropout before A"),
    "lora_targets": _(list, "names of target modules; [`all-linear`] for all"),
    "modules_to_save": _(list, "modules trained whole beside the adapter"),
    "trainable_token_indices": _(bool, "whether single rows of the embedding are trained"),
    "rslora": _(bool, "scale alpha / sqrt(r)"),
    "dora": _(bool, "DoRA"),
    "ensure_weight_tying": _(bool, "PEFT's ensure_weight_tying"),
    "lora_init": _(
        str, "default, gaussian, pissa, olora, eva, corda, loftq, random (init_lora_weights: false)"
    ),
    "frozen_embeddings": _(bool, "whether the input embeddings get no gradient"),
    # vocabulary and tokens
    "added_tokens": _(list, "tokens that the run adds to the vocabulary"),
    "pad_token": _(str, "as text"),
    "eos_token": _(str, "as text"),
    "pad_token_id": _(int, ""),
    "eos_token_id": _(int, "the only one, or the first"),
    "decoder_start_token_id": _(int, ""),
    "chat_template": _(str, "its name or text"),
    # decoding
    "beam": _(int, "beam width in evaluation"),
    "no_repeat_ngram": _(int, "0 is off"),
    "repetition_penalty": _(float, "1 is off"),
    "predict_with_generate": _(bool, "evaluation decodes"),
    # evaluation, checkpoints, log
    "eval_strategy": _(str, "no, steps, epoch"),
    "eval_steps": _(float, "steps between evaluations"),
    "save_strategy": _(str, "no, steps, epoch, best"),
    "save_steps": _(float, "steps between checkpoints"),
    "keep_checkpoints": _(int, "how many are kept"),
    "patience": _(int, "evaluations in a row without a better one, after which the run ends"),
    "stop_on": _(str, "which metrics that counts for, as `evaluate.stop_on` writes it: {any: [chrf, loss]}"),
    "moving_average": _(float, "share of the new weights in a moving average of them, each update; 0 is off"),
    "load_best": _(bool, "the best checkpoint is loaded at the end"),
    "nan_filter": _(bool, "NaN and inf are left out of the logged loss"),
    "seed": _(int, ""),
    "dataloader_workers": _(int, ""),
    "pin_memory": _(bool, ""),
    "output_dir": _(str, ""),
    "export": _(list, "formats that the recipe promises: hf, ctranslate2, onnx"),
    # images
    "image_size": _(list, "[height, width] that every image is resized to, whatever its shape"),
    "keep_aspect_ratio": _(bool, "whether resizing keeps the aspect ratio"),
    # data
    "corpora": _(list, "paths or names of training data"),
    "validation": _(bool, "whether there is validation data"),
    "validation_files": _(list, "paths of validation data, source before target"),
    "shared_vocabulary": _(bool, "one vocabulary for source and target"),
}
