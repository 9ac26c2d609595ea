"""Models of two layers or so."""

GRADIENTS = True

#: Sizes of most models of text, of those whose queries share keys, of most models of images.
TEXT = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, vocab_size=200)
SHARED = dict(**TEXT, num_key_value_heads=2, max_position_embeddings=64)
IMAGE = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, image_size=64, patch_size=16)
STAGES = dict(hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 2, 1])
SOUND = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, conv_dim=[32] * 7, num_conv_pos_embeddings=16,
             num_conv_pos_embedding_groups=4)
CODER = dict(d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=128,
             decoder_ffn_dim=128, vocab_size=200, pad_token_id=1)
GPT = dict(n_embd=64, n_layer=2, n_head=4, vocab_size=200)

#: The model's class, its configuration, what it takes besides ids of tokens with their mask (a name of INPUTS), sizes.
MODELS = {
    "albert": ("AlbertModel", "AlbertConfig", "text", dict(**TEXT, embedding_size=32)),
    "ast": ("ASTModel", "ASTConfig", "spectrogram", dict(**{**IMAGE, "patch_size": 16}, max_length=64, num_mel_bins=32)),
    "bamba": ("BambaForCausalLM", "BambaConfig", "text", dict(**SHARED, mamba_n_heads=8, mamba_d_head=16, mamba_d_state=8, mamba_chunk_size=8,
                                                              attn_layer_indices=[1])),
    "bart": ("BartForConditionalGeneration", "BartConfig", "two texts", CODER),
    "beit": ("BeitModel", "BeitConfig", "image", dict(**IMAGE, use_relative_position_bias=True)),
    "bert": ("BertForMaskedLM", "BertConfig", "text", TEXT),
    "bloom": ("BloomForCausalLM", "BloomConfig", "text", dict(hidden_size=64, n_layer=2, n_head=4, vocab_size=200)),
    "cohere": ("CohereForCausalLM", "CohereConfig", "text", dict(**TEXT, num_key_value_heads=2)),
    "convnext": ("ConvNextModel", "ConvNextConfig", "image", STAGES),
    "convnext v2": ("ConvNextV2Model", "ConvNextV2Config", "image", STAGES),
    "deberta v2": ("DebertaV2Model", "DebertaV2Config", "text", dict(**TEXT, relative_attention=True, pos_att_type=["p2c", "c2p"],
                                                                     position_buckets=16)),
    "deepseek v3": ("DeepseekV3ForCausalLM", "DeepseekV3Config", "text", dict(
        **TEXT, num_key_value_heads=4, n_routed_experts=4, num_experts_per_tok=2, n_group=1, topk_group=1, moe_intermediate_size=32,
        q_lora_rank=32, kv_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=16, v_head_dim=16, first_k_dense_replace=1)),
    "deit": ("DeiTModel", "DeiTConfig", "image", IMAGE),
    "dinov2": ("Dinov2Model", "Dinov2Config", "image", {**IMAGE, "intermediate_size": 128}),
    "distilbert": ("DistilBertModel", "DistilBertConfig", "text", dict(dim=64, n_layers=2, n_heads=4, hidden_dim=128, vocab_size=200)),
    "dpt": ("DPTModel", "DPTConfig", "image", dict(**{**IMAGE, "num_hidden_layers": 4}, backbone_out_indices=[0, 1, 2, 3],
                                                   neck_hidden_sizes=[16, 32, 48, 64])),
    "electra": ("ElectraModel", "ElectraConfig", "text", dict(**TEXT, embedding_size=32)),
    "encodec": ("EncodecModel", "EncodecConfig", "wave", dict(num_filters=8, hidden_size=32, codebook_dim=32, codebook_size=64,
                                                              upsampling_ratios=[4, 2])),
    "falcon": ("FalconForCausalLM", "FalconConfig", "text", dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, vocab_size=200)),
    "fnet": ("FNetModel", "FNetConfig", "tokens", {k: v for k, v in TEXT.items() if k != "num_attention_heads"}),
    "gemma 2": ("Gemma2ForCausalLM", "Gemma2Config", "text", dict(**SHARED, head_dim=16)),
    "gemma 3": ("Gemma3ForCausalLM", "Gemma3TextConfig", "text", dict(**SHARED, head_dim=16)),
    "glm 4": ("Glm4ForCausalLM", "Glm4Config", "text", dict(**SHARED, head_dim=16, pad_token_id=0)),
    "gpt-2": ("GPT2LMHeadModel", "GPT2Config", "text", GPT),
    "gpt-j": ("GPTJForCausalLM", "GPTJConfig", "text", dict(**GPT, rotary_dim=8)),
    "gpt-neox": ("GPTNeoXForCausalLM", "GPTNeoXConfig", "text", TEXT),
    "gpt-oss": ("GptOssForCausalLM", "GptOssConfig", "text", dict(**SHARED, head_dim=16, num_local_experts=4)),
    "granite": ("GraniteForCausalLM", "GraniteConfig", "text", SHARED),
    "hubert": ("HubertModel", "HubertConfig", "waves", SOUND),
    "jamba": ("JambaForCausalLM", "JambaConfig", "text", dict(**SHARED, num_experts=2, attn_layer_period=2, attn_layer_offset=1,
                                                              use_mamba_kernels=False, mamba_d_state=8)),
    "llama": ("LlamaForCausalLM", "LlamaConfig", "text", SHARED),
    "llama 4": ("Llama4ForCausalLM", "Llama4TextConfig", "text", dict(**SHARED, head_dim=16, num_local_experts=2, intermediate_size_mlp=128)),
    "longformer": ("LongformerModel", "LongformerConfig", "text", dict(**TEXT, attention_window=8)),
    "mamba": ("MambaForCausalLM", "MambaConfig", "tokens", dict(hidden_size=64, num_hidden_layers=2, vocab_size=200, state_size=8)),
    "mamba 2": ("Mamba2ForCausalLM", "Mamba2Config", "tokens", dict(hidden_size=64, num_hidden_layers=2, vocab_size=200, state_size=8,
                                                                    num_heads=8, head_dim=16, n_groups=1, chunk_size=8)),
    "mistral": ("MistralForCausalLM", "MistralConfig", "text", dict(**SHARED, sliding_window=8)),
    "mixtral": ("MixtralForCausalLM", "MixtralConfig", "text", dict(**SHARED, num_local_experts=4)),
    "mobilenet v2": ("MobileNetV2Model", "MobileNetV2Config", "image", dict(depth_multiplier=0.35, image_size=64)),
    "modernbert": ("ModernBertModel", "ModernBertConfig", "text", dict(**TEXT, pad_token_id=0)),
    "mpnet": ("MPNetModel", "MPNetConfig", "text", TEXT),
    "olmo 2": ("Olmo2ForCausalLM", "Olmo2Config", "text", SHARED),
    "opt": ("OPTForCausalLM", "OPTConfig", "text", dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, ffn_dim=128,
                                                        vocab_size=200, word_embed_proj_dim=64)),
    "patchtst": ("PatchTSTModel", "PatchTSTConfig", "series", dict(num_input_channels=3, context_length=64, patch_length=8, patch_stride=8,
                                                                   d_model=32, num_hidden_layers=2, num_attention_heads=4, ffn_dim=64)),
    "phi": ("PhiForCausalLM", "PhiConfig", "text", TEXT),
    "phi 3": ("Phi3ForCausalLM", "Phi3Config", "text", dict(**SHARED, pad_token_id=0)),
    "poolformer": ("PoolFormerModel", "PoolFormerConfig", "image", {**STAGES, "depths": [1, 1, 1, 1]}),
    "qwen 2": ("Qwen2ForCausalLM", "Qwen2Config", "text", SHARED),
    "qwen 2, experts": ("Qwen2MoeForCausalLM", "Qwen2MoeConfig", "text", dict(**SHARED, num_experts=4, moe_intermediate_size=32,
                                                                              shared_expert_intermediate_size=32)),
    "qwen 3": ("Qwen3ForCausalLM", "Qwen3Config", "text", dict(**SHARED, head_dim=16)),
    "recurrent gemma": ("RecurrentGemmaForCausalLM", "RecurrentGemmaConfig", "text", dict(**TEXT, lru_width=64, attention_window_size=8)),
    "regnet": ("RegNetModel", "RegNetConfig", "image", dict(**{**STAGES, "depths": [1, 1, 1, 1]}, embedding_size=16, groups_width=8)),
    "resnet": ("ResNetModel", "ResNetConfig", "image", dict(**{**STAGES, "depths": [1, 1, 1, 1]}, embedding_size=16, layer_type="bottleneck")),
    "roberta": ("RobertaModel", "RobertaConfig", "text", TEXT),
    "rwkv": ("RwkvForCausalLM", "RwkvConfig", "tokens", dict(hidden_size=64, num_hidden_layers=2, vocab_size=200, attention_hidden_size=64)),
    "sam": ("SamVisionModel", "SamVisionConfig", "image", dict(hidden_size=64, output_channels=32, num_hidden_layers=2, num_attention_heads=4,
                                                               image_size=64, patch_size=16, window_size=2, global_attn_indexes=[1])),
    "segformer": ("SegformerForSemanticSegmentation", "SegformerConfig", "image", dict(
        **{**STAGES, "depths": [1, 1, 1, 1]}, decoder_hidden_size=32, num_attention_heads=[1, 2, 4, 4])),
    "stablelm": ("StableLmForCausalLM", "StableLmConfig", "text", dict(**TEXT, num_key_value_heads=2)),
    "swin": ("SwinModel", "SwinConfig", "image", dict(embed_dim=24, depths=[2, 2], num_heads=[2, 4], image_size=64, window_size=4)),
    "swin v2": ("Swinv2Model", "Swinv2Config", "image", dict(embed_dim=24, depths=[2, 2], num_heads=[2, 4], image_size=64, window_size=4)),
    "t5": ("T5ForConditionalGeneration", "T5Config", "two texts", dict(d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, vocab_size=200)),
    "videomae": ("VideoMAEModel", "VideoMAEConfig", "video", dict(**{**IMAGE, "image_size": 32}, num_frames=4)),
    "vit": ("ViTModel", "ViTConfig", "image", IMAGE),
    "wav2vec 2": ("Wav2Vec2Model", "Wav2Vec2Config", "waves", SOUND),
    "whisper": ("WhisperModel", "WhisperConfig", "speech", dict(**CODER, num_mel_bins=16, max_source_positions=50, decoder_start_token_id=2)),
    "xlnet": ("XLNetModel", "XLNetConfig", "text", dict(d_model=64, n_layer=2, n_head=4, d_inner=128, vocab_size=200)),
}


def inputs(kind):
    import torch
    ids, mask = torch.randint(5, 190, (2, 17)), torch.ones(2, 17, dtype=torch.long)
    mask[1, 12:] = 0
    text = {"input_ids": ids, "attention_mask": mask}
    return {
        "text": lambda: text, "tokens": lambda: {"input_ids": ids}, "two texts": lambda: {**text, "decoder_input_ids": ids[:, :7]},
        "image": lambda: {"pixel_values": torch.randn(2, 3, 64, 64)}, "video": lambda: {"pixel_values": torch.randn(1, 4, 3, 32, 32)},
        "wave": lambda: {"input_values": torch.randn(1, 1, 512)}, "waves": lambda: {"input_values": torch.randn(2, 4000)},
        "spectrogram": lambda: {"input_values": torch.randn(2, 64, 32)}, "series": lambda: {"past_values": torch.randn(2, 64, 3)},
        "speech": lambda: {"input_features": torch.randn(2, 16, 100), "decoder_input_ids": ids[:, :7]},
    }[kind]()


def make(name):
    import transformers
    transformers.logging.set_verbosity_error()
    model_class, config_class, kind, sizes = MODELS[name]
    config = getattr(transformers, config_class)(**sizes)
    if hasattr(config, "use_cache"):
        config.use_cache = False
    return getattr(transformers, model_class)(config), (), {**inputs(kind), "return_dict": True}
