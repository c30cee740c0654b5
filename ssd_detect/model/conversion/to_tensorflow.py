"""A TensorFlow V2 checkpoint under the reference's names, for any `tf.compat.v1.train.Saver`."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from ssd_detect.model.conversion.outgoing import Outgoing, ReadBack
from ssd_detect.model.conversion.quantise import Stored
from ssd_detect.model.conversion.weights_runtime import run_loaded
from ssd_detect.model.metadata import METADATA_NAME

# Evaluation scripts of the reference insist on it; its own converter from Caffe writes 0 as well.
_GLOBAL_STEP = "global_step"


def write_tensorflow(prefix: Path, outgoing: Outgoing) -> None:
    """Write `prefix.data-00000-of-00001` and `prefix.index`.

    Raises:
        tf.errors.OpError: the system refuses.
    """
    tensors: dict[str, Any] = {outgoing.full_name(name): values for name, values in outgoing.tensors.items()}
    tensors[_GLOBAL_STEP] = np.int64(outgoing.step)
    tensors[METADATA_NAME] = np.array(json.dumps(outgoing.metadata).encode(), object)
    names = sorted(tensors)
    with tf.Graph().as_default(), tf.device("/CPU:0"):
        feeds = {tf.compat.v1.placeholder(_dtype(tensors[name]), np.shape(tensors[name])): name for name in names}
        save = tf.raw_ops.SaveV2(
            prefix=os.fsencode(prefix), tensor_names=names, shape_and_slices=[""] * len(names), tensors=list(feeds)
        )
        with tf.compat.v1.Session(config=tf.compat.v1.ConfigProto(device_count={"GPU": 0})) as session:
            session.run(save, {placeholder: tensors[name] for placeholder, name in feeds.items()})


def _dtype(values: Any) -> Any:
    return tf.string if values.dtype == object else tf.as_dtype(values.dtype)


def read_tensorflow(prefix: Path, outgoing: Outgoing) -> ReadBack:
    """The checkpoint as TensorFlow's own reader sees it, run as `ssd-detect` runs any checkpoint."""
    tensors, metadata = read_variables(prefix, outgoing)
    return ReadBack("TensorFlow and ssd-detect", tensors, metadata, run_loaded(prefix, outgoing.spec))


def read_variables(prefix: Path, outgoing: Outgoing) -> tuple[Stored, dict[str, str]]:
    """The network's tensors, by names below the root scope, and the metadata.

    Raises:
        tf.errors.OpError: damaged.
        KeyError, ValueError: no metadata.
    """
    names = [*outgoing.tensors, METADATA_NAME]
    full = [*map(outgoing.full_name, outgoing.tensors), METADATA_NAME]
    kinds = [tf.as_dtype(values.dtype) for values in outgoing.tensors.values()]
    with tf.Graph().as_default(), tf.device("/CPU:0"):
        restore = tf.raw_ops.RestoreV2(
            prefix=os.fsencode(prefix), tensor_names=full, shape_and_slices=[""] * len(full), dtypes=[*kinds, tf.string]
        )
        with tf.compat.v1.Session(config=tf.compat.v1.ConfigProto(device_count={"GPU": 0})) as session:
            values = dict(zip(names, session.run(restore), strict=True))
    metadata: dict[str, str] = json.loads(values.pop(METADATA_NAME))
    return values, metadata
