"""Each port's names and layouts against lists of layers that were made without looking at ours."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import seeded

from ssd_detect.conventions import ColourOrder, Source
from ssd_detect.errors import CheckpointError
from ssd_detect.model.naming import native_names, native_shape, num_classes, size_of, source_of, to_ours
from ssd_detect.model.spec import variable_shapes
from tests.ssd_names import caffe_tensors, keras_tensors, numbered_weights, ssd_pytorch_tensors, torchvision_tensors

Tensors = dict[str, Any]

PORTS: list[tuple[Source, int, int, Callable[[Tensors], Tensors]]] = [
    (Source.CAFFE, 300, 21, lambda w: caffe_tensors(w, 300)),
    (Source.CAFFE, 512, 81, lambda w: caffe_tensors(w, 512)),
    (Source.KERAS, 300, 81, lambda w: keras_tensors(w, 300)),
    (Source.KERAS, 512, 21, lambda w: keras_tensors(w, 512)),
    (Source.SSD_PYTORCH, 300, 21, ssd_pytorch_tensors),
    (Source.TORCHVISION, 300, 91, torchvision_tensors),
]


class TestWholeNetworks:
    @pytest.mark.parametrize(("source", "size", "classes", "port"), PORTS)
    def test_every_variable_comes_back_bit_for_bit(
        self, source: Source, size: int, classes: int, port: Callable[[Tensors], Tensors]
    ) -> None:
        weights = numbered_weights(size, classes)
        native = port(weights)
        shapes = {name: values.shape for name, values in native.items()}
        assert (source_of(shapes), size_of(source, shapes), num_classes(source, size, shapes)) == (
            source,
            size,
            classes,
        )
        names = native_names(source, size, shapes)
        assert sorted(names.values()) == sorted(native)
        for ours, shape in variable_shapes(size, classes).items():
            assert shapes[names[ours]] == native_shape(source, shape)
            values = to_ours(native[names[ours]], ours, source)
            np.testing.assert_array_equal(values, weights[ours])
            assert values.dtype == np.float32
            assert values.flags.c_contiguous

    @pytest.mark.parametrize("size", [300, 512])
    def test_our_own(self, size: int) -> None:
        shapes = seeded.variable_shapes(size, 21)
        assert source_of(shapes) is Source.TENSORFLOW
        assert size_of(Source.TENSORFLOW, shapes) == size
        assert num_classes(Source.TENSORFLOW, size, shapes) == 21
        names = native_names(Source.TENSORFLOW, size, shapes)
        assert sorted(names.values()) == sorted(shapes)
        assert all(full == f"ssd_{size}_vgg/{name}" for name, full in names.items())


class TestSource:
    @pytest.mark.parametrize(
        "names",
        [
            [],
            ["conv1_1/1", "conv1_2/0"],
            ["block1_conv1/kernel"],
            ["features.0.weight"],
            ["xvgg.0.weight"],
            ["ssd_300_vgg/conv1/conv1_1/weights/Momentum"],
        ],
    )
    def test_nobodys(self, names: list[str]) -> None:
        assert source_of(names) is None

    @pytest.mark.parametrize("prefix", ["", "module.", "state_dict.", "state_dict.module.", "model.", "net.ssd."])
    def test_below_a_prefix(self, prefix: str) -> None:
        names = [prefix + name for name in torchvision_tensors(numbered_weights(300, 2))]
        assert source_of(names) is Source.TORCHVISION
        assert native_names(Source.TORCHVISION, 300, names)["conv6/biases"] == prefix + "backbone.extra.0.7.1.bias"

    def test_of_several_the_usual_one(self) -> None:
        names = ["model.vgg.0.weight", "ema.vgg.0.weight"]
        assert native_names(Source.SSD_PYTORCH, 300, names)["conv6/biases"] == "model.vgg.31.bias"

    def test_of_several_none_is_guessed(self) -> None:
        names = ["teacher.vgg.0.weight", "student.vgg.0.weight"]
        with pytest.raises(CheckpointError, match=r"holds several networks \(student, teacher\), expected one"):
            native_names(Source.SSD_PYTORCH, 300, names)

    @pytest.mark.parametrize("source", [Source.SSD_PYTORCH, Source.TORCHVISION])
    def test_what_has_no_512(self, source: Source) -> None:
        assert size_of(source, ["vgg.0.weight", "block12/conv1x1/weights"]) == 300
        with pytest.raises(CheckpointError, match="expected an SSD300, the only one it has"):
            native_names(source, 512, [])

    def test_a_missing_variable_has_its_name_all_the_same(self) -> None:
        assert native_names(Source.CAFFE, 512, ["conv1_1/0"])["block12/conv4x4/weights"] == "conv10_2/0"


@pytest.mark.parametrize("shape", [None, (), (84, 1), (0,), (4,), (86,)])
def test_biases_that_tell_no_number_of_classes(shape: tuple[int, ...] | None) -> None:
    shapes = {"conv1_1/0": (64, 3, 3, 3)} | ({} if shape is None else {"conv4_3_norm_mbox_conf/1": shape})
    assert num_classes(Source.CAFFE, 300, shapes) is None


class TestLayout:
    @pytest.mark.parametrize(
        ("source", "order", "reversed_inputs"),
        [
            (Source.TENSORFLOW, None, False),
            (Source.TENSORFLOW, ColourOrder.BGR, True),
            (Source.CAFFE, None, True),
            (Source.CAFFE, ColourOrder.RGB, False),
            (Source.KERAS, None, True),
            (Source.SSD_PYTORCH, None, False),
            (Source.SSD_PYTORCH, ColourOrder.BGR, True),
            (Source.TORCHVISION, None, False),
        ],
    )
    def test_colour_order(self, source: Source, order: ColourOrder | None, reversed_inputs: bool) -> None:
        """A kernel that copies its input k into k: red stays red, or becomes blue."""
        kernel = np.zeros(native_shape(source, (1, 1, 3, 2)), np.float32)
        kernel[(0, 0, 0, 0)] = 1  # first input, first output, in either layout
        ours = to_ours(kernel, "conv1/conv1_1/weights", source, order)
        assert ours.shape == (1, 1, 3, 2)
        assert ours[0, 0, 2 if reversed_inputs else 0, 0] == 1

    def test_only_the_first_kernel_knows_colours(self) -> None:
        kernel = np.arange(6, dtype=np.float32).reshape(2, 3, 1, 1)
        np.testing.assert_array_equal(
            to_ours(kernel, "conv6/weights", Source.CAFFE)[0, 0], kernel.reshape(2, 3).transpose()
        )

    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64])
    def test_any_number_becomes_float32(self, dtype: type) -> None:
        values: Any = np.arange(3, dtype=dtype)
        ours = to_ours(values, "conv6/biases", Source.TORCHVISION)
        assert ours.dtype == np.float32
        assert not np.shares_memory(ours, values)
        np.testing.assert_array_equal(ours, [0, 1, 2])

    def test_what_float32_cannot_hold_is_infinite(self) -> None:
        assert to_ours(np.array([1e300]), "conv6/biases", Source.CAFFE) == np.inf
