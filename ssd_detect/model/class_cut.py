"""Cutting the classes of one list out of a network that knows more: VOC's twenty out of a COCO model, for example."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ssd_detect.arrays import Floats
from ssd_detect.classes import CLASS_LISTS, find_class_ids, list_name
from ssd_detect.errors import SettingError, UnknownClassError
from ssd_detect.model.spec import ModelSpec, network


def cut_classes(
    variables: Mapping[str, Floats], spec: ModelSpec, class_list: str
) -> tuple[Mapping[str, Floats], ModelSpec]:
    """The network with the outputs of `class_list` alone, in its order and under its names.

    A network has no trace of the classes that were cut off: its softmax runs over what is left, so that scores are
    higher than those of the whole network. The Caffe release made its VOC models out of COCO ones in the same way
    (its `coco_voc_map.txt`); classes find each other by name, whichever spelling a list has.

    Args:
        variables: name below the root scope -> float32 array, as `model.spec.variable_shapes` says for `spec`.
        spec: what the network is now.
        class_list: a key of `classes.CLASS_LISTS`.

    Returns:
        variables and spec of the smaller network; the same objects when it has that list already.

    Raises:
        SettingError: no such list; the network does not know every class of it.
    """
    if class_list not in CLASS_LISTS:
        raise SettingError(f"class list is {class_list!r}, expected one of {', '.join(CLASS_LISTS)}")
    names = CLASS_LISTS[class_list]
    if spec.class_names == names:
        return variables, spec
    outputs = kept_outputs(spec.class_names, class_list)
    cut = dict(variables)
    for head in network(spec.size).heads:
        for part in ("weights", "biases"):
            name = f"{head.scope}/conv_cls/{part}"
            cut[name] = _kept(variables[name], head.anchors_per_cell, outputs)
    return cut, replace(spec, class_names=names)


def kept_outputs(class_names: tuple[str, ...], class_list: str) -> list[int]:
    """Which outputs of an anchor stay, in the order of the list; the background is the first of each list.

    Args:
        class_names: of the network.
        class_list: a key of `classes.CLASS_LISTS`.

    Raises:
        SettingError: the network does not know every class of the list.
    """
    try:
        return [0, *find_class_ids(CLASS_LISTS[class_list][1:], class_names)]
    except UnknownClassError as error:
        raise SettingError(
            f"class list {class_list} cannot be cut out of {_in_words(class_names)}: {error}; "
            "leave --class-list out, or choose another checkpoint"
        ) from error


def _in_words(class_names: tuple[str, ...]) -> str:
    known = list_name(class_names)
    return f"class list {known}" if known else f"the checkpoint's own {len(class_names) - 1} classes"


def _kept(values: Floats, anchors_per_cell: int, outputs: list[int]) -> Floats:
    """Last axis A x C to A x outputs: anchors follow each other, the classes of one are together."""
    blocks = values.reshape(*values.shape[:-1], anchors_per_cell, -1)  # (..., A, C)
    kept = blocks[..., outputs].reshape(*values.shape[:-1], -1)
    return np.ascontiguousarray(kept)
