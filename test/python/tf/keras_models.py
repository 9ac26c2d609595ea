"""Keras models with random weights and small inputs: the families of keras.applications, and layers as networks use them."""

import keras
import numpy as np

L = keras.layers

#: The class of keras.applications, the edge of the images, arguments.
APPLICATIONS = {
    "ConvNeXtTiny": (64, {}),
    "DenseNet121": (64, {}),
    "EfficientNetB0": (64, {}),
    "EfficientNetV2B0": (64, {}),
    "InceptionResNetV2": (96, {}),
    "InceptionV3": (96, {}),
    "MobileNet": (64, dict(alpha=0.25)),
    "MobileNetV2": (64, dict(alpha=0.35)),
    "MobileNetV3Small": (64, dict(minimalistic=False)),
    "MobileNetV3Large": (64, dict(minimalistic=True)),
    "NASNetMobile": (64, {}),
    "ResNet50": (64, {}),
    "ResNet50V2": (64, {}),
    "VGG16": (64, {}),
    "Xception": (96, {}),
}


#: Deep networks, whose gradients would take minutes of compilation.
FORWARD_ALONE = ("DenseNet121", "EfficientNetV2B0", "InceptionResNetV2", "InceptionV3", "MobileNetV2", "MobileNetV3Large", "NASNetMobile",
                 "ResNet50", "ResNet50V2", "Xception")
#: With seed 1 the argument of one ReLU of VGG16 is within rounding of 0: there the gradient of f32 may be that of either side.
SEEDS = {"VGG16": 2}


def sequence(*layers):
    return lambda: keras.Sequential(layers_made(layers))


def layers_made(layers):
    return [make() for make in layers]


def of(layer, *arguments, **settings):
    """The layer, made anew for each model."""
    return lambda: layer(*arguments, **settings)


def text_classifier():
    x = L.Input((12,), dtype="int32")
    y = L.Embedding(50, 16, mask_zero=True)(x)
    y = L.Bidirectional(L.LSTM(8, return_sequences=True))(y)
    return keras.Model(x, L.Dense(3, activation="softmax")(L.GRU(6)(y)))


def transformer():
    """An encoder and a decoder, with the masks that the embeddings hand on."""
    source, target = L.Input((10,), dtype="int32"), L.Input((7,), dtype="int32")
    x, y = L.Embedding(50, 16, mask_zero=True)(source), L.Embedding(50, 16, mask_zero=True)(target)

    def fed_forward(x):
        return L.LayerNormalization()(x + L.Dense(16)(L.Dense(32, activation="gelu")(x)))
    x = fed_forward(L.LayerNormalization()(x + L.MultiHeadAttention(2, 8)(x, x)))
    y = L.LayerNormalization()(y + L.MultiHeadAttention(2, 8)(y, y, use_causal_mask=True))
    y = fed_forward(L.LayerNormalization()(y + L.MultiHeadAttention(2, 8)(y, x)))
    return keras.Model([source, target], L.Dense(50)(y))


def u_net():
    x = L.Input((16, 16, 3))
    first = L.Activation("relu")(L.BatchNormalization()(L.Conv2D(8, 3, padding="same")(x)))
    inner = L.Conv2D(16, 3, padding="same", activation="relu")(L.MaxPooling2D()(first))
    outer = L.Conv2DTranspose(8, 2, strides=2, padding="same")(inner)
    return keras.Model(x, L.Conv2D(2, 1, activation="sigmoid")(L.Concatenate()([first, outer])))


def wave_net():
    x = L.Input((32, 4))
    y, skipped = L.Conv1D(8, 1)(x), []
    for rate in (1, 2, 4):
        gate = L.Conv1D(8, 2, padding="causal", dilation_rate=rate, activation="tanh")(y)
        gate *= L.Conv1D(8, 2, padding="causal", dilation_rate=rate, activation="sigmoid")(y)
        skipped.append(L.Conv1D(8, 1)(gate))
        y = y + skipped[-1]
    return keras.Model(x, L.Conv1D(5, 1)(L.ReLU()(L.Add()(skipped))))


def mixer():
    x = L.Input((16, 16, 3))
    y = L.Reshape((16, 24))(L.Conv2D(24, 4, strides=4)(x))
    y += L.Permute((2, 1))(L.Dense(16)(L.Dense(32, activation="gelu")(L.Permute((2, 1))(L.LayerNormalization()(y)))))
    y += L.Dense(24)(L.Dense(48, activation="gelu")(L.LayerNormalization()(y)))
    return keras.Model(x, L.Dense(5)(L.GlobalAveragePooling1D()(y)))


def attentions():
    """Attention by dots and by sums, grouped heads, products of two inputs."""
    x, y = L.Input((6, 8)), L.Input((5, 8))
    z = L.Attention(use_scale=True)([x, y]) + L.AdditiveAttention()([x, y]) + L.GroupQueryAttention(4, 4, 2)(x, y)
    return keras.Model([x, y], L.Dot(axes=2, normalize=True)([z, y]))


def merged():
    x, y = L.Input((6, 8)), L.Input((6, 8))
    return keras.Model([x, y], L.Concatenate()([L.Add()([x, y]), L.Multiply()([x, y]), L.Maximum()([x, y]), L.Minimum()([x, y]),
                                                L.Average()([x, y]), L.Subtract()([x, y]), L.LeakyReLU()(x), L.PReLU()(x), L.ELU()(y),
                                                L.Softmax()(y), L.RMSNormalization()(x), L.UnitNormalization()(y)]))


#: What makes the model, the shapes of its inputs; integers are those of an embedding.
LAYERS = {
    "text classifier": (text_classifier, [("ids", 3, 12)]),
    "transformer": (transformer, [("ids", 2, 10), ("ids", 2, 7)]),
    "u-net": (u_net, [(2, 16, 16, 3)]),
    "wave net": (wave_net, [(2, 32, 4)]),
    "mixer": (mixer, [(2, 16, 16, 3)]),
    "attentions": (attentions, [(2, 6, 8), (2, 5, 8)]),
    "merged": (merged, [(2, 6, 8), (2, 6, 8)]),
    "LSTM": (sequence(of(L.LSTM, 8, return_sequences=True), of(L.LSTM, 6, go_backwards=True)), [(2, 9, 5)]),
    "LSTM, unrolled": (sequence(of(L.LSTM, 8, unroll=True)), [(2, 4, 5)]),
    "GRU": (sequence(of(L.GRU, 8, return_sequences=True), of(L.GRU, 6, reset_after=False)), [(2, 9, 5)]),
    "SimpleRNN": (sequence(of(L.Masking), of(L.SimpleRNN, 8, return_sequences=True), of(L.Bidirectional, L.SimpleRNN(4))), [(2, 9, 5)]),
    "Bidirectional": (sequence(of(L.Bidirectional, L.GRU(6, return_sequences=True), merge_mode="sum"), of(L.TimeDistributed, L.Dense(3))),
                      [(2, 9, 5)]),
    "ConvLSTM1D": (sequence(of(L.ConvLSTM1D, 4, 3, padding="same")), [(2, 4, 8, 3)]),
    "ConvLSTM2D": (sequence(of(L.ConvLSTM2D, 4, 3, padding="same", return_sequences=True)), [(2, 4, 8, 8, 3)]),
    "Conv1D": (sequence(of(L.Conv1D, 8, 5, strides=2, padding="same", activation="relu"), of(L.MaxPooling1D), of(L.SeparableConv1D, 6, 3),
                        of(L.Conv1DTranspose, 4, 3, strides=2), of(L.AveragePooling1D, 3, strides=1), of(L.UpSampling1D)), [(2, 32, 5)]),
    "Conv2D": (sequence(of(L.ZeroPadding2D), of(L.Conv2D, 12, 3, groups=3, activation="swish"), of(L.SeparableConv2D, 8, 3, padding="same"),
                        of(L.DepthwiseConv2D, 3, depth_multiplier=2, dilation_rate=2), of(L.AveragePooling2D, 2, padding="same"),
                        of(L.GroupNormalization, 4), of(L.UpSampling2D, interpolation="bilinear"), of(L.Cropping2D, 1)), [(2, 14, 14, 6)]),
    "Conv3D": (sequence(of(L.Conv3D, 6, 3, strides=(1, 2, 2), padding="same", activation="elu"), of(L.MaxPooling3D),
                        of(L.Conv3DTranspose, 4, 2, strides=2), of(L.AveragePooling3D, 2), of(L.GlobalMaxPooling3D)), [(2, 6, 12, 12, 3)]),
    "pooling": (sequence(of(L.AdaptiveAveragePooling2D, (5, 3)), of(L.AdaptiveMaxPooling2D, (3, 2)), of(L.Flatten)), [(2, 13, 14, 3)]),
    "normalisation": (sequence(of(L.BatchNormalization, axis=1), of(L.SpectralNormalization, L.Dense(8)), of(L.LayerNormalization, axis=(1, 2)),
                               of(L.EinsumDense, "abc,cd->abd", (None, 6), bias_axes="d")), [(4, 6, 8)]),
    "resized": (sequence(of(L.Rescaling, 2.0, -0.5), of(L.Resizing, 9, 11), of(L.CenterCrop, 7, 8), of(L.Resizing, 12, 5)), [(2, 8, 8, 3)]),
}
MODELS = {**APPLICATIONS, **LAYERS}


def make(name):
    """The model, and its arguments as arrays of numpy."""
    keras.utils.set_random_seed(SEEDS.get(name, 1))
    numbers = np.random.default_rng(0)
    if name in APPLICATIONS:
        size, settings = APPLICATIONS[name]
        model = getattr(keras.applications, name)(weights=None, input_shape=(size, size, 3), classes=10, classifier_activation=None, **settings)
        # Images of the range that a model rescales itself.
        scale = 127.0 if any(isinstance(layer, L.Rescaling) for layer in model.layers) else 1.0
        return model, [(numbers.uniform(-1, 1, (2, size, size, 3)) * scale + (scale if scale > 1 else 0)).astype(np.float32)]
    build, shapes = LAYERS[name]
    inputs = [numbers.integers(0, 50, s[1:]).astype(np.int32) if s[0] == "ids" else numbers.standard_normal(s).astype(np.float32) for s in shapes]
    model = build()
    model(inputs[0] if len(inputs) == 1 else inputs)
    return model, inputs
