"""Denoisers, transformers and autoencoders in small configurations."""

GRADIENTS = True

BLOCKS = dict(block_out_channels=(16, 32), norm_num_groups=8, layers_per_block=1)
CROSS = dict(**BLOCKS, in_channels=4, out_channels=4, sample_size=16, cross_attention_dim=16, attention_head_dim=8)
#: The class, a name of INPUTS, the configuration.
MODELS = {
    "UNet2DModel": ("time", dict(**BLOCKS, sample_size=16, in_channels=4, out_channels=4, attention_head_dim=8,
                                 down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"))),
    "UNet2DConditionModel": ("text", dict(**CROSS, down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
                                          up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"))),
    "ControlNetModel": ("control", dict(
        block_out_channels=(16, 32), norm_num_groups=8, layers_per_block=1, in_channels=4, cross_attention_dim=16, attention_head_dim=8,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), conditioning_embedding_out_channels=(8, 16))),
    "UNet1DModel": ("wave", dict(block_out_channels=(32, 64), in_channels=14, out_channels=14, extra_in_channels=0, time_embedding_type="positional",
                                 use_timestep_embedding=True, flip_sin_to_cos=False, freq_shift=1.0, out_block_type="OutConv1DBlock",
                                 mid_block_type="MidResTemporalBlock1D", act_fn="swish", layers_per_block=1,
                                 down_block_types=("DownResnetBlock1D", "DownResnetBlock1D"), up_block_types=("UpResnetBlock1D",))),
    "UNet3DConditionModel": ("video", dict(
        block_out_channels=(16, 32), norm_num_groups=8, layers_per_block=1, in_channels=4, out_channels=4, sample_size=16, cross_attention_dim=16,
        attention_head_dim=8, down_block_types=("CrossAttnDownBlock3D", "DownBlock3D"), up_block_types=("UpBlock3D", "CrossAttnUpBlock3D"))),
    "AutoencoderKL": ("image", dict(**BLOCKS, latent_channels=4, down_block_types=("DownEncoderBlock2D",) * 2,
                                    up_block_types=("UpDecoderBlock2D",) * 2)),
    "AutoencoderTiny": ("image", dict(encoder_block_out_channels=(16, 16), decoder_block_out_channels=(16, 16), num_encoder_blocks=(1, 1),
                                      num_decoder_blocks=(1, 1))),
    "VQModel": ("image", dict(**BLOCKS, latent_channels=4, num_vq_embeddings=16, down_block_types=("DownEncoderBlock2D",) * 2,
                              up_block_types=("UpDecoderBlock2D",) * 2)),
    "AutoencoderDC": ("image", dict(
        latent_channels=4, attention_head_dim=8, encoder_block_out_channels=(8, 16), decoder_block_out_channels=(8, 16),
        encoder_block_types=("ResBlock", "EfficientViTBlock"), decoder_block_types=("ResBlock", "EfficientViTBlock"),
        encoder_layers_per_block=(1, 1), decoder_layers_per_block=(1, 1), encoder_qkv_multiscales=((), (5,)), decoder_qkv_multiscales=((), (5,)))),
    "DiTTransformer2DModel": ("classes", dict(num_attention_heads=2, attention_head_dim=16, in_channels=4, out_channels=8, num_layers=2,
                                              sample_size=16, norm_num_groups=8, num_embeds_ada_norm=10)),
    "PixArtTransformer2DModel": ("caption", dict(num_attention_heads=2, attention_head_dim=16, in_channels=4, out_channels=8, num_layers=2,
                                                 sample_size=16, cross_attention_dim=32, caption_channels=16, norm_num_groups=8,
                                                 use_additional_conditions=False)),
    "SD3Transformer2DModel": ("pooled", dict(sample_size=16, patch_size=2, in_channels=4, num_layers=2, attention_head_dim=16, num_attention_heads=2,
                                             joint_attention_dim=16, caption_projection_dim=32, pooled_projection_dim=16, out_channels=4,
                                             pos_embed_max_size=16)),
    "FluxTransformer2DModel": ("tokens", dict(patch_size=1, in_channels=4, num_layers=1, num_single_layers=1, attention_head_dim=16,
                                              num_attention_heads=2, joint_attention_dim=16, pooled_projection_dim=16, axes_dims_rope=(4, 4, 8))),
    "WanTransformer3DModel": ("frames", dict(patch_size=(1, 2, 2), num_attention_heads=2, attention_head_dim=12, in_channels=4, out_channels=4,
                                             text_dim=16, freq_dim=32, ffn_dim=32, num_layers=2)),
    "PriorTransformer": ("prior", dict(num_attention_heads=2, attention_head_dim=8, num_layers=2, embedding_dim=16, num_embeddings=5,
                                       additional_embeddings=4)),
}


def inputs(kind):
    import torch
    noisy, step, text = torch.randn(2, 4, 16, 16), torch.tensor([3, 7]), torch.randn(2, 5, 16)
    latent = {"hidden_states": noisy, "timestep": step}
    return {
        "time": lambda: {"sample": noisy, "timestep": step}, "text": lambda: {"sample": noisy, "timestep": step, "encoder_hidden_states": text},
        "control": lambda: {"sample": noisy, "timestep": step, "encoder_hidden_states": text, "controlnet_cond": torch.rand(2, 3, 32, 32)},
        "wave": lambda: {"sample": torch.randn(2, 14, 32), "timestep": step},
        "video": lambda: {"sample": torch.randn(2, 4, 3, 16, 16), "timestep": step, "encoder_hidden_states": text},
        "image": lambda: {"sample": torch.randn(2, 3, 32, 32)}, "classes": lambda: {**latent, "class_labels": torch.tensor([1, 4])},
        "caption": lambda: {**latent, "encoder_hidden_states": text}, "pooled": lambda: {**latent, "encoder_hidden_states": text,
                                                                                         "pooled_projections": torch.randn(2, 16)},
        "tokens": lambda: {"hidden_states": torch.randn(2, 16, 4), "timestep": step / 1000, "encoder_hidden_states": text,
                           "pooled_projections": torch.randn(2, 16), "txt_ids": torch.zeros(5, 3), "img_ids": torch.randint(0, 4, (16, 3)).float()},
        "frames": lambda: {"hidden_states": torch.randn(2, 4, 2, 16, 16), "timestep": step, "encoder_hidden_states": text},
        "prior": lambda: {"hidden_states": torch.randn(2, 16), "timestep": step, "proj_embedding": torch.randn(2, 16),
                          "encoder_hidden_states": torch.randn(2, 5, 16)},
    }[kind]()


def make(name):
    import diffusers
    kind, settings = MODELS[name]
    return getattr(diffusers, name)(**settings), (), inputs(kind)
