"""Classification, segmentation, video and optical flow, the smallest of each kind."""

GRADIENTS = False

SEGMENTATION = dict(weights_backbone=None, num_classes=5)
#: The group of models ("" are those of images), the edge of the image, arguments of the model.
MODELS = {
    "alexnet": ("", 64, {}),
    "convnext_tiny": ("", 64, {}),
    "densenet121": ("", 64, {}),
    "efficientnet_b0": ("", 64, {}),
    "efficientnet_v2_s": ("", 64, {}),
    "googlenet": ("", 64, dict(init_weights=True)),
    "inception_v3": ("", 96, dict(init_weights=True)),
    "maxvit_t": ("", 224, {}),
    "mnasnet0_5": ("", 64, {}),
    "mobilenet_v2": ("", 64, {}),
    "mobilenet_v3_small": ("", 64, {}),
    "regnet_x_400mf": ("", 64, {}),
    "regnet_y_400mf": ("", 64, {}),
    "resnet18": ("", 64, {}),
    "resnext50_32x4d": ("", 64, {}),
    "shufflenet_v2_x0_5": ("", 64, {}),
    "squeezenet1_0": ("", 64, {}),
    "squeezenet1_1": ("", 64, {}),
    "swin_t": ("", 64, {}),
    "swin_v2_t": ("", 64, {}),
    "vgg11": ("", 64, {}),
    "vit_b_16": ("", 64, dict(image_size=64)),
    "wide_resnet50_2": ("", 64, {}),
    "fcn_resnet50": ("segmentation", 64, SEGMENTATION),
    "deeplabv3_mobilenet_v3_large": ("segmentation", 64, SEGMENTATION),
    "deeplabv3_resnet50": ("segmentation", 64, SEGMENTATION),
    "lraspp_mobilenet_v3_large": ("segmentation", 64, SEGMENTATION),
    "r3d_18": ("video", 32, {}),
    "mc3_18": ("video", 32, {}),
    "r2plus1d_18": ("video", 32, {}),
    "s3d": ("video", 64, {}),
    "mvit_v2_s": ("video", 224, {}),
    "swin3d_t": ("video", 32, {}),
    "raft_small": ("optical_flow", 128, {}),
}


def make(name):
    import torch
    import torchvision
    group, size, settings = MODELS[name]
    of = getattr(torchvision.models, group) if group else torchvision.models
    model = getattr(of, name)(weights=None, **settings)
    if group == "optical_flow":
        return model, (torch.randn(1, 3, size, size), torch.randn(1, 3, size, size)), dict(num_flow_updates=2)
    if group == "video":
        return model, (torch.randn(1, 3, 16 if size > 32 else 8, size, size),), {}
    return model, (torch.randn(2, 3, size, size),), {}
