"""Pictures as network input, against TensorFlow's own kernels, OpenCV, and what a resize must not change."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import cv2
import numpy as np
import pytest
import seeded
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from ssd_detect.arrays import Floats, Pixels
from ssd_detect.conventions import ResizeRule
from ssd_detect.model.resize import resized, resized_batch


def by_tensorflow(*, half_pixel: bool) -> Callable[[Pixels, int], Any]:
    def resize(picture: Pixels, side: int) -> Any:
        images = picture[np.newaxis]
        return tf.raw_ops.ResizeBilinear(images=images, size=[side, side], half_pixel_centers=half_pixel)[0].numpy()

    return resize


def by_tensorflow_antialiased(picture: Pixels, side: int) -> Any:
    return tf.image.resize(picture, [side, side], method="bilinear", antialias=True).numpy()


def by_opencv(picture: Pixels, side: int) -> Any:
    return cv2.resize(picture, (side, side), interpolation=cv2.INTER_LINEAR).astype(np.float32)


# Each rule, whose answer is right, and grey levels that may differ: float32 sums in another order.
SOURCES: dict[ResizeRule, tuple[Callable[[Pixels, int], Any], float]] = {
    ResizeRule.LEGACY: (by_tensorflow(half_pixel=False), 0),
    ResizeRule.HALF_PIXEL: (by_tensorflow(half_pixel=True), 0),
    ResizeRule.OPENCV: (by_opencv, 0),
    ResizeRule.ANTIALIAS: (by_tensorflow_antialiased, 5e-4),
}
SIZES = [(1, 1), (1, 7), (7, 1), (2, 2), (3, 2000), (2000, 3), (299, 301), (300, 300), (300, 500), (600, 600)]
SIZES += [(720, 1280), (1080, 1920), (31, 17)]


def noise(seed: int, height: int, width: int) -> Pixels:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def assert_as_the_source(picture: Pixels, side: int, rule: ResizeRule) -> None:
    source, most = SOURCES[rule]
    found = resized(picture, side, rule)
    assert found.shape == (side, side, 3)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, source(picture, side), rtol=0, atol=most)


@pytest.mark.parametrize("rule", ResizeRule)
class TestAgainstTheSource:
    @pytest.mark.parametrize("size", SIZES)
    @pytest.mark.parametrize("side", [300, 512])
    def test_sizes(self, rule: ResizeRule, size: tuple[int, int], side: int) -> None:
        assert_as_the_source(noise(1, *size), side, rule)

    @given(
        seed=st.integers(0, 2**32 - 1),
        height=st.integers(1, 900),
        width=st.integers(1, 900),
        side=st.sampled_from([1, 37, 300, 512]),
    )
    @settings(deadline=None, max_examples=25)
    def test_any_size(self, rule: ResizeRule, seed: int, height: int, width: int, side: int) -> None:
        assert_as_the_source(noise(seed, height, width), side, rule)

    @pytest.mark.parametrize("index", range(4))
    def test_golden_pictures(self, rule: ResizeRule, index: int) -> None:
        _, height, width = seeded.PICTURES[index]
        assert_as_the_source(seeded.seeded_picture(index, height, width), 300, rule)

    def test_a_view_is_as_its_copy(self, rule: ResizeRule) -> None:
        view = noise(2, 90, 120)[5:80, 100:3:-1, ::-1]
        np.testing.assert_array_equal(resized(view, 300, rule), resized(view.copy(), 300, rule))

    def test_one_colour_stays_in_range(self, rule: ResizeRule) -> None:
        for level in (0, 255):
            found = resized(np.full((631, 97, 3), level, np.uint8), 300, rule)
            np.testing.assert_allclose(found, level, rtol=0, atol=1e-4)

    def test_a_batch_equals_its_singles(self, rule: ResizeRule) -> None:
        pictures = [noise(i, *size) for i, size in enumerate(SIZES)]
        before = [picture.copy() for picture in pictures]
        batch = resized_batch(pictures, 300, rule)
        assert batch.flags.c_contiguous
        for picture, copy, found in zip(pictures, before, batch, strict=True):
            np.testing.assert_array_equal(found, resized(picture, 300, rule))
            np.testing.assert_array_equal(picture, copy)
        assert resized_batch([], 300, rule).shape == (0, 300, 300, 3)

    def test_threads_do_not_disturb_each_other(self, rule: ResizeRule) -> None:
        pictures = [noise(i, 40 + 7 * (i % 3), 50 + 11 * (i % 4)) for i in range(24)]
        expected = [resized(picture, 64, rule) for picture in pictures]
        with ThreadPoolExecutor(4) as pool:
            found: list[Floats] = list(pool.map(lambda picture: resized(picture, 64, rule), pictures))
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("side", [300, 321, 512])
@pytest.mark.parametrize("size", [(1, 1), (1, 20_000), (20_000, 2), (10, 7680), (2160, 3840), (200, 301), (641, 641)])
def test_products_are_small_enough_for_one_thread(
    size: tuple[int, int], side: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, shapes = np.matmul, set()

    def matmul(first: Floats, second: Floats, out: Floats) -> None:
        shapes.add((*first.shape, second.shape[1]))
        real(first, second, out=out)

    monkeypatch.setattr(np, "matmul", matmul)
    resized(np.zeros((*size, 3), np.uint8), side, ResizeRule.ANTIALIAS)
    assert shapes
    for rows, inner, columns in shapes:  # a product with one row or column would be one with a vector
        assert min(rows, columns) > 1, (rows, inner, columns)
        assert rows * inner * columns <= 4 * 65536, (rows, inner, columns)
