"""Dynamic int8 for an ONNX model: matmuls with constant weights become MatMulInteger.

The scheme is that of ONNX Runtime's quantize_dynamic (which needs its Python package), except that
weights have a scale per output channel. Activations become unsigned 8-bit values at run time, with
one range per tensor; weights become signed 8-bit values beforehand. Convolutions stay float32.
"""

import pathlib
from typing import Dict, List

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper


def quantize_weight(weight: np.ndarray) -> "tuple[np.ndarray, np.ndarray]":
    """(K, N) float32 to int8 of the same shape and N scales: weight = int8 * scale."""
    scale = np.abs(weight).max(axis=0) / 127.0
    scale = np.where(scale == 0, 1.0, scale).astype(np.float32)
    return np.rint(weight / scale).clip(-127, 127).astype(np.int8), scale


def _matmul_nodes(node: NodeProto, scale: str, weight: str) -> List[NodeProto]:
    """x W as int8, in the pattern of nodes that ONNX Runtime's fusions recognise."""
    prefix, (x, _), (y,) = node.output[0], node.input, node.output
    return [
        helper.make_node("DynamicQuantizeLinear", [x],
                         [f"{prefix}.x_int8", f"{prefix}.x_scale", f"{prefix}.x_zero"]),
        helper.make_node("MatMulInteger", [f"{prefix}.x_int8", weight, f"{prefix}.x_zero"],
                         [f"{prefix}.int32"]),
        helper.make_node("Cast", [f"{prefix}.int32"], [f"{prefix}.float"], to=TensorProto.FLOAT),
        helper.make_node("Mul", [f"{prefix}.x_scale", scale], [f"{prefix}.scale"]),
        helper.make_node("Mul", [f"{prefix}.float", f"{prefix}.scale"], [y]),
    ]


def _constants(graph: onnx.GraphProto) -> Dict[str, np.ndarray]:
    """Initializers and Constant nodes by name."""
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            constants[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
    return constants


def quantize(model: onnx.ModelProto) -> int:
    """Rewrites `model` in place; returns the number of matmuls that were quantised.

    A matmul of two constants is left alone: ONNX Runtime computes it once.
    """
    graph = model.graph
    constants = _constants(graph)
    derived = set(constants)  # names of values that do not depend on the input
    nodes: List[NodeProto] = []
    count = 0
    for node in graph.node:
        if node.input and all(name in derived or not name for name in node.input):
            derived.update(node.output)
        weight = constants.get(node.input[1]) if node.op_type == "MatMul" else None
        if weight is None or weight.ndim != 2 or node.input[0] in derived:
            nodes.append(node)
            continue
        values, scale = quantize_weight(weight)
        names = [f"{node.input[1]}.int8", f"{node.input[1]}.scale"]
        if names[0] not in constants:
            for name, array in zip(names, (values, scale)):
                constants[name] = array
                graph.initializer.append(numpy_helper.from_array(array, name))
        nodes.extend(_matmul_nodes(node, names[1], names[0]))
        count += 1
    del graph.node[:]
    graph.node.extend(nodes)
    used = {name for node in nodes for name in node.input}
    kept = [tensor for tensor in graph.initializer if tensor.name in used]
    del graph.initializer[:]
    graph.initializer.extend(kept)
    return count


def quantize_file(source: pathlib.Path, output: pathlib.Path) -> int:
    """Reads `source`, writes `output`; returns as `quantize` does."""
    model = onnx.load(str(source))
    count = quantize(model)
    onnx.checker.check_model(model)
    onnx.save(model, str(output))
    return count
