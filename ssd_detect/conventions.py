"""What weights are bound to and no file of weights tells: the conventions in which the ports of SSD differ; and the
names of what can compute them.

Sources: Liu et al. 2016; code of the Caffe release, balancap/SSD-Tensorflow, ssd.pytorch, torchvision and ssd_keras.
No NumPy and no TensorFlow here, since options are made of these names.
"""

from enum import Enum


class ResizeRule(str, Enum):
    """How a picture becomes the network's square input; weights work best with the rule of their training."""

    LEGACY = "legacy"  # TF1 bilinear, corner-aligned pixels: the reference TensorFlow port
    HALF_PIXEL = "half_pixel"  # bilinear in floating point, pixel centres: torchvision
    OPENCV = "opencv"  # bilinear, pixel centres, whole grey levels, OpenCV's own rounding: Caffe, ssd.pytorch, Keras
    ANTIALIAS = "antialias"  # triangle filter as wide as the reduction: Pillow's BILINEAR


class AnchorRounding(str, Enum):
    """What becomes of anchor sizes that are no whole pixels, which SSD512 alone has."""

    FLOAT = "float"  # kept
    INT = "int"  # cut to whole pixels, before anything is made of them: Caffe's PriorBox keeps them in integers


class AnchorClip(str, Enum):
    """How anchors that leave the picture are cut."""

    NONE = "none"
    SIZE = "wh"  # widths and heights to at most 1: torchvision
    CENTRE_AND_SIZE = "cxcywh"  # each of centre x, centre y, width, height into 0..1: ssd.pytorch


class ColourOrder(str, Enum):
    """The order of the channels that the first convolution of a file expects; in memory it is always RGB."""

    RGB = "rgb"
    BGR = "bgr"


class Profile(str, Enum):
    """How scores and offsets become detections: as the program does it for which the weights were made."""

    TUTORIAL = "tutorial"  # balancap/SSD-Tensorflow's notebook
    REFERENCE_EVAL = "reference-eval"  # balancap/SSD-Tensorflow's evaluation
    CAFFE = "caffe"
    TORCHVISION = "torchvision"
    SSD_PYTORCH = "ssd.pytorch"
    KERAS = "keras"  # ssd_keras


class Source(str, Enum):
    """Whose names and layout the tensors of a file have."""

    TENSORFLOW = "tensorflow"  # balancap/SSD-Tensorflow, and what this program writes
    CAFFE = "caffe"
    SSD_PYTORCH = "ssd.pytorch"
    TORCHVISION = "torchvision"
    KERAS = "keras"  # ssd_keras


class EngineName(str, Enum):
    """Who computes the network."""

    TENSORFLOW = "tensorflow"  # the reference
    ONNXRUNTIME = "onnxruntime"
    OPENVINO = "openvino"
    OPENCV = "opencv"
    AUTO = "auto"  # the fastest of those that are installed, as measured on this machine


class Arithmetic(str, Enum):
    """What numbers the convolutions are computed with; scores, offsets and boxes are float32 always."""

    FLOAT32 = "float32"
    TF32 = "tf32"  # 10 bits of fraction in products: NVIDIA GPUs from Ampere on
    BF16 = "bf16"  # 7 bits of fraction
    FP16 = "fp16"  # 10 bits of fraction, 5 of exponent
    INT8 = "int8"  # kernels one scale a channel, activations one scale a tensor, told by calibration
