"""Networks in plain torch.nn with random weights at full size, of the blocks of `networks.py`. `LARGE` maps a name to a function that gives a
model and its arguments for a batch. Sizes are those of the published networks; images have 224 x 224 pixels where nothing else is said."""

import torch
from networks import (Autoencoder, Bert, ConvNext, Dense, Diffusion, Dlrm, Gpt, Inverted, Llama, Mixer, MobileInverted,
                      Recurrent, Residual, T5, UNet, VisionTransformer, WaveNet, WindowAttention)
from torch import nn


def images(size=224):
    return lambda n: [torch.randn(n, 3, size, size)]


def head(channels, classes=1000):
    return nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes)


def resnet50():
    layers, inputs = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64
    for width, blocks, stride in (64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2):
        for i in range(blocks):
            layers.append(Residual(inputs, width, stride if i == 0 else 1))
            inputs = 4 * width
    return nn.Sequential(*layers, *head(2048)), images()


def mobilenet_v3():
    """MobileNetV3-Large."""
    h, r = nn.Hardswish, nn.ReLU
    rows = [(3, 16, 16, 0, r, 1), (3, 64, 24, 0, r, 2), (3, 72, 24, 0, r, 1), (5, 72, 40, 1, r, 2), (5, 120, 40, 1, r, 1), (5, 120, 40, 1, r, 1),
            (3, 240, 80, 0, h, 2), (3, 200, 80, 0, h, 1), (3, 184, 80, 0, h, 1), (3, 184, 80, 0, h, 1), (3, 480, 112, 1, h, 1),
            (3, 672, 112, 1, h, 1), (5, 672, 160, 1, h, 2), (5, 960, 160, 1, h, 1), (5, 960, 160, 1, h, 1)]
    layers, inputs = [nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.Hardswish()], 16
    for kernel, wide, outputs, excite, activation, stride in rows:
        layers.append(Inverted(inputs, wide, outputs, kernel, stride, bool(excite), activation))
        inputs = outputs
    return nn.Sequential(*layers, nn.Conv2d(160, 960, 1, bias=False), nn.BatchNorm2d(960), nn.Hardswish(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(960, 1280), nn.Hardswish(), nn.Linear(1280, 1000)), images()


def efficientnet_b0():
    layers, inputs = [nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.SiLU()], 32
    for factor, outputs, blocks, stride, kernel in ((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5),
                                                    (6, 192, 4, 2, 5), (6, 320, 1, 1, 3)):
        for i in range(blocks):
            layers.append(MobileInverted(inputs, factor, outputs, kernel, stride if i == 0 else 1))
            inputs = outputs
    return nn.Sequential(*layers, nn.Conv2d(320, 1280, 1, bias=False), nn.BatchNorm2d(1280), nn.SiLU(), *head(1280)), images()


def densenet121():
    layers, channels = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64
    for stage, blocks in enumerate((6, 12, 24, 16)):
        if stage > 0:
            layers += [nn.BatchNorm2d(channels), nn.ReLU(), nn.Conv2d(channels, channels // 2, 1, bias=False), nn.AvgPool2d(2)]
            channels //= 2
        for _ in range(blocks):
            layers.append(Dense(channels, 32, 128))
            channels += 32
    return nn.Sequential(*layers, nn.BatchNorm2d(channels), nn.ReLU(), *head(channels)), images()


def unet_128():
    """128 x 128 pixels, 64 to 256 channels."""
    return UNet(64), images(128)


def vit_base():
    return VisionTransformer(768, 16, 224, 12, 12, 1000), images()


class Swin(nn.Module):
    """Swin-T: four stages of pairs of window attention; between them the pixels of 2 x 2 are joined."""

    class Join(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.norm, self.narrow = nn.LayerNorm(4 * width), nn.Linear(4 * width, 2 * width, bias=False)

        def forward(self, x):
            parts = [x[:, i::2, j::2] for j in (0, 1) for i in (0, 1)]
            return self.narrow(self.norm(torch.cat(parts, -1)))

    def __init__(self):
        super().__init__()
        layers, width = [], 96
        for stage, (blocks, heads) in enumerate(((2, 3), (2, 6), (6, 12), (2, 24))):
            if stage > 0:
                layers.append(self.Join(width))
                width *= 2
            layers += [WindowAttention(width, heads, 7, 3 if i % 2 and stage < 3 else 0) for i in range(blocks)]
        self.patches, self.first, self.layers = nn.Conv2d(3, 96, 4, 4), nn.LayerNorm(96), nn.Sequential(*layers)
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 1000)

    def forward(self, x):
        x = self.layers(self.first(self.patches(x).permute(0, 2, 3, 1)))
        return self.head(self.norm(x).mean((1, 2)))


def swin_t():
    return Swin(), images()


class Norm(nn.Module):
    """Layer norm over the channels of an image that has them first."""

    def __init__(self, channels):
        super().__init__()
        self.norm = nn.LayerNorm(channels, eps=1e-6)

    def forward(self, x):
        return self.norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


def convnext_t():
    layers, width = [nn.Conv2d(3, 96, 4, 4), Norm(96)], 96
    for stage, blocks in enumerate((3, 3, 9, 3)):
        if stage > 0:
            layers += [Norm(width), nn.Conv2d(width, 2 * width, 2, 2)]
            width *= 2
        layers += [ConvNext(width) for _ in range(blocks)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(width, eps=1e-6), nn.Linear(width, 1000)), images()


def bert_base():
    """128 tokens."""
    def arguments(n):
        return [torch.randint(1, 30522, (n, 128)), torch.randint(0, 2, (n, 128)), torch.ones(n, 128, dtype=torch.int64)]
    return Bert(30522, 768, 12, 12, 512), arguments


def gpt2_small():
    """64 tokens."""
    return Gpt(50257, 768, 12, 12, 1024), lambda n: [torch.randint(0, 50257, (n, 64))]


def llama_1b():
    """Four of the 22 blocks of a network of 1.1 billion weights, and its head; 64 tokens."""
    return Llama(32000, 2048, 32, 4, 5632, 4), lambda n: [torch.randint(0, 32000, (n, 64))]


def t5_small():
    """64 tokens, 32 of the target."""
    return T5(32128, 512, 8, 6, 32, 2048, 128), lambda n: [torch.randint(0, 32128, (n, 64)), torch.randint(0, 32128, (n, 32))]


def lstm_512():
    """Two layers, 64 steps."""
    return Recurrent(nn.LSTM, 256, 512, num_layers=2), lambda n: [torch.randn(n, 64, 256)]


def gru_512():
    """Both directions, 64 steps."""
    return Recurrent(nn.GRU, 256, 512, bidirectional=True), lambda n: [torch.randn(n, 64, 256)]


class MixerNetwork(nn.Module):
    def __init__(self, width=768, layers=12):
        super().__init__()
        self.patches, self.layers = nn.Conv2d(3, width, 16, 16), nn.Sequential(*[Mixer(196, width, 384, 3072) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 1000)

    def forward(self, x):
        return self.head(self.norm(self.layers(self.patches(x).flatten(2).transpose(1, 2))).mean(1))


def mixer_b16():
    return MixerNetwork(), images()


def dlrm_26():
    """26 tables of 10,000 rows."""
    return Dlrm(10000, 26, 64, 512), lambda n: [torch.randn(n, 13), torch.randint(0, 10000, (n, 26))]


def wavenet_64():
    """Ten layers of 64 channels, 4,000 samples."""
    return WaveNet(64, 10), lambda n: [torch.randn(n, 1, 4000)]


def autoencoder_64():
    """64 x 64 pixels."""
    return Autoencoder(64, 3, 64, 128), lambda n: [torch.randn(n, 3, 64, 64), torch.randn(n, 128)]


def diffusion_32():
    """32 x 32 pixels, 128 channels."""
    return Diffusion(128, 4), lambda n: [torch.randn(n, 3, 32, 32), torch.randint(0, 1000, (n,))]


LARGE = {f.__name__: f for f in (
    resnet50, mobilenet_v3, efficientnet_b0, densenet121, unet_128, vit_base, swin_t, convnext_t, bert_base, gpt2_small, llama_1b, t5_small,
    lstm_512, gru_512, mixer_b16, dlrm_26, wavenet_64, autoencoder_64, diffusion_32)}
