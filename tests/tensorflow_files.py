"""Weights in every kind of file that TensorFlow writes, written by TensorFlow itself."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1


def write_v2(prefix: Path, variables: Mapping[str, Any], shards: int = 1) -> Path:
    """A V2 checkpoint, of several data files if asked for."""
    prefix.parent.mkdir(parents=True, exist_ok=True)
    names = list(variables)
    parts = [names[i::shards] for i in range(shards)]
    prefixes = [f"{prefix}-part{i}" for i in range(shards)]
    with tf.Graph().as_default(), v1.Session() as session:
        feeds: dict[Any, Any] = {}
        for part, place in zip(parts, prefixes, strict=True):
            tensors = [v1.placeholder(_dtype(variables[n]), np.shape(variables[n])) for n in part]
            feeds |= dict(zip(tensors, (variables[n] for n in part), strict=True))
            save = tf.raw_ops.SaveV2(
                prefix=place, tensor_names=part, shape_and_slices=[""] * len(part), tensors=tensors
            )
            session.run(save, feeds)
        session.run(tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=prefixes, destination_prefix=str(prefix)))
    return prefix


def _dtype(values: Any) -> Any:
    return tf.string if isinstance(values, (bytes, str)) else tf.as_dtype(np.asarray(values).dtype)


def write_by_saver(path: Path, variables: Mapping[str, Any], version: int, pieces: int = 1) -> Path:
    """A checkpoint by `Saver`, of version 1 or 2; variables of several rows in so many pieces."""
    with tf.Graph().as_default(), v1.Session() as session:
        made, feeds = _made(variables, pieces)
        session.run(v1.global_variables_initializer(), feeds)
        v1.train.Saver(made, write_version=version).save(session, str(path), write_meta_graph=False)
    return path


def _made(variables: Mapping[str, Any], pieces: int) -> tuple[list[Any], dict[Any, Any]]:
    made, feeds = [], {}
    for name, values in variables.items():
        if pieces > 1 and np.ndim(values) and len(values) >= pieces:
            partitioner = v1.fixed_size_partitioner(pieces)
            made.append(
                v1.get_variable(
                    name, values.shape, _dtype(values), _sliced(values), partitioner=partitioner, use_resource=False
                )
            )
            continue
        placeholder = v1.placeholder(_dtype(values), np.shape(values))
        feeds[placeholder] = values
        made.append(v1.get_variable(name, initializer=placeholder, use_resource=False))
    return made, feeds


def _sliced(values: Any) -> Any:
    """An initialiser of one piece of a variable."""

    def initial(shape: Any, dtype: Any, partition_info: Any) -> Any:
        start = partition_info.var_offset
        return tf.constant(values[tuple(slice(o, o + n) for o, n in zip(start, shape, strict=True))], dtype)

    return initial


def frozen_graph(variables: Mapping[str, Any]) -> Any:
    """A graph with constants in place of variables, each read by another node."""
    with tf.Graph().as_default() as graph:
        for name, values in variables.items():
            tf.identity(tf.constant(values, name=name), name=f"{name}/read")
    return graph.as_graph_def()


def write_frozen(path: Path, variables: Mapping[str, Any], prefix: str = "") -> Path:
    """A frozen graph as a `.pb` file."""
    path.write_bytes(frozen_graph({prefix + name: values for name, values in variables.items()}).SerializeToString())
    return path


def write_saved_model_v1(folder: Path, variables: Mapping[str, Any]) -> Path:
    """A SavedModel as `tf.compat.v1` writes it, with variables."""
    with tf.Graph().as_default(), v1.Session() as session:
        made, feeds = _made(variables, pieces=1)
        session.run(v1.global_variables_initializer(), feeds)
        builder = v1.saved_model.Builder(str(folder))
        builder.add_meta_graph_and_variables(session, ["serve"])
        assert made
        builder.save()
    return folder


def write_saved_model_v2(folder: Path, variables: Mapping[str, Any], *, as_constants: bool = False) -> Path:
    """A SavedModel as `tf.saved_model.save` writes it; the weights as constants of a function if asked for."""
    module = tf.Module()
    if as_constants:

        @tf.function(input_signature=[])  # type: ignore[untyped-decorator]
        def weights() -> dict[str, Any]:
            return {name: tf.constant(values, name=name) for name, values in variables.items()}

        module.weights = weights
    else:
        module.all = [tf.Variable(values, name=name) for name, values in variables.items()]
    tf.saved_model.save(module, str(folder))
    return folder
