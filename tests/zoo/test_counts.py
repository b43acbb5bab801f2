"""What the standard library finds in models of real exporters is what their architectures have.

The models come from a folder that `TRTC_ZOO` names: `NAME.EXPORTER.onnx`, each with a `.json` that says how to feed it
(see benchmarks/zoo.py). The numbers are derived from the architectures, in the comments beside them; an export that has
an operator already counts like one in which trtc found it.
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import functools
import importlib.util
import os
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from trtc import ir, lang
from trtc.driver.front import run_pipeline
from trtc.driver.library import vocabulary
from trtc.ir.infer import infer_all

ZOO = Path(os.environ["TRTC_ZOO"]) if os.environ.get("TRTC_ZOO") else None

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(ZOO is None, reason="TRTC_ZOO names no folder of models"),
]


def transformer(layers: int, *, gelu: int, norms: int, merged: int, norm: str = "LayerNormalization") -> dict[str, int]:
    return {"Attention": layers, "Softmax": 0, "Gelu": gelu, norm: norms, "merge_projections": merged}


def bert(layers: int) -> dict[str, int]:
    """Each layer has a GELU, two norms, an attention and three projections; there is a norm behind the embeddings."""
    return transformer(layers, gelu=layers, norms=2 * layers + 1, merged=layers)


# Decoder layers with keys and values for half of the heads, which Attention repeats by itself. Two norms a layer and
# one at the end; queries and keys turn; siblings are query, key and value, and gate and up; the gate is a SiLU.
LLAMA = {
    **transformer(4, gelu=0, norms=2 * 4 + 1, merged=2 * 4, norm="RMSNormalization"),
    "RotaryEmbedding": 2 * 4,
    "silu": 4,
    "grouped attention": 4,
}
# One convolution holds query, key and value already. A norm at the end instead of behind the embeddings.
GPT2 = transformer(12, gelu=12, norms=2 * 12 + 1, merged=0)
# torchvision's attention has one packed projection.
VIT = transformer(12, gelu=12, norms=2 * 12 + 1, merged=0)
# Quick GELU is x * sigmoid(1.702 x). The pooled output is projected by a matrix of its own.
CLIP = {**transformer(12, gelu=0, norms=2 * 12 + 1, merged=12), "silu": 12}
# Norms without a mean; a Relu between the linear layers.
T5 = transformer(6, gelu=0, norms=2 * 6 + 1, merged=6, norm="RMSNormalization")
# Blocks 3, 3, 9, 3, with a norm and a GELU each; norms of the stem, of three downsamplings, and before the classifier.
CONVNEXT = {"Gelu": 18, "LayerNormalization": 18 + 1 + 3 + 1, "Erf": 0}
# Nine of the fifteen blocks have two HardSwish; the stem, the last convolution and the classifier one each. Eight
# blocks have a gate.
MOBILENET_V3 = {"HardSwish": 2 * 9 + 3, "HardSigmoid": 8, "Clip": 0, "BatchNormalization": 0, "Conv": 62}
DEEPLAB = {"HardSwish": 2 * 9 + 2, "HardSigmoid": 8}
# Sixteen blocks: one SiLU behind the expansion (not in the first), one behind the depthwise convolution, one in the
# gate; and those of the stem and of the head.
EFFICIENTNET = {"silu": 15 + 16 + 16 + 2, "BatchNormalization": 0, "Conv": 81}
# Convolutions with a SiLU: five in the backbone, two in the neck, two in a C2f and two for each of its bottlenecks (six
# in the backbone, four in the neck), two in SPPF, four at each of three scales of the head.
YOLOV8 = {"silu": 5 + 2 + 8 * 2 + (6 + 4) * 2 + 2 + 3 * 4, "BatchNormalization": 0, "merge_convs": 3}
# The same with C3 instead of C2f (three convolutions and two for each of seven and four bottlenecks) and four in the
# neck; both entries of each C3 are siblings, and both towers at each scale.
YOLOV5 = {"silu": 5 + 4 + 8 * 3 + (7 + 4) * 2 + 2 + 3 * 4, "merge_convs": 8 + 3}
# Seven inverted residuals with two SiLU, three MobileViT blocks with three, nine transformer layers with one, the stem
# and the head. Two norms a layer and one in each block; query, key and value are one projection.
MOBILEVIT = {**transformer(9, gelu=0, norms=2 * 9 + 3, merged=0), "silu": 7 * 2 + 3 * 3 + 9 + 2}
# Blocks with several 1x1 convolutions over their input: three A, four C, one D, two E.
INCEPTION = {"merge_conv_relu": 3 + 4 + 1 + 2, "BatchNormalization": 0}
# Two residual blocks at each of three scales and two in the middle, with two norms and two SiLU; a norm in front of the
# attention, and one with a SiLU at the end.
VAE = {
    "GroupNormalization": 8 * 2 + 2,
    "InstanceNormalization": 0,
    "silu": 8 * 2 + 1,
    "Attention": 1,
    "Softmax": 0,
    "merge_projections": 1,
}
RESNET50 = {"Conv": 53, "BatchNormalization": 0}
# BERT of six layers, its weights in int8 with a Cast and a Mul behind them.
MINILM = {**bert(6), "QuantizeLinear": 0, "DequantizeLinear": 0}
# Every weight, bias and activation that ONNX Runtime quantized.
RESNET18_QDQ = {"QuantizeLinear": 33, "DequantizeLinear": 75, "Conv": 20}

COUNTS: Mapping[str, Mapping[str, int]] = {
    "bert_base.ts13": bert(12),
    "bert_base.dy18": bert(12),
    **{f"bert_mini_sdpa.{v}": bert(4) for v in ("ts14", "ts17", "dy18", "dyraw18", "dy23")},
    "distilbert.ts13": bert(6),
    "distilbert.dy18": bert(6),
    "gpt2_past.ts13": GPT2,
    "gpt2_past.dy18": GPT2,
    "llama_past.ts17": LLAMA,
    "llama_past.dy18": LLAMA,
    "llama_past.dy23": LLAMA,
    "vit_b_16.ts14": VIT,
    "vit_b_16.dy18": VIT,
    "clip_text.ts13": CLIP,
    "clip_text.dy18": CLIP,
    "t5_small_encoder.ts13": T5,
    "t5_small_encoder.dy18": T5,
    "convnext_tiny.ts13": CONVNEXT,
    "convnext_tiny.dy18": CONVNEXT,
    "convnext_tiny.fp16": CONVNEXT,
    "mobilenet_v3_large.tsraw13": MOBILENET_V3,
    "mobilenet_v3_large.ts13": MOBILENET_V3,
    "mobilenet_v3_large.dy18": MOBILENET_V3,
    "deeplabv3_mobilenet.ts13": DEEPLAB,
    "deeplabv3_mobilenet.dy18": DEEPLAB,
    "efficientnet_b0.tsraw13": EFFICIENTNET,
    "efficientnet_b0.ts17": EFFICIENTNET,
    "efficientnet_b0.dy18": EFFICIENTNET,
    "yolov8n.tsraw13": YOLOV8,
    "yolov8n.ts13": YOLOV8,
    "yolov8n.dy18": YOLOV8,
    "yolov5n.ts13": YOLOV5,
    "timm_mobilevit_s.ts13": MOBILEVIT,
    "timm_mobilevit_s.dy18": MOBILEVIT,
    "inception_v3.ts13": INCEPTION,
    "inception_v3.dy18": INCEPTION,
    "sd_vae_decoder_small.ts17": VAE,
    "sd_vae_decoder_small.dy18": VAE,
    "resnet50.tsraw13": RESNET50,
    "resnet50.dyraw18": RESNET50,
    "minilm_int8.pkg": MINILM,
    "resnet18.qdq": RESNET18_QDQ,
}


def model(name: str) -> Path:
    assert ZOO is not None
    path = ZOO / f"{name}.onnx"
    if not path.is_file():
        pytest.skip(f"{path.name} is not in the folder that TRTC_ZOO names")
    return path


def silus(module: ir.Module) -> int:
    """Swish, by name or as the product of a value and its sigmoid, also with a factor in the sigmoid."""
    found = 0
    for node in module.nodes():
        found += node.op_type.lower() == "swish"
        if node.op_type != "Mul":
            continue
        for x, gate in (tuple(node.inputs), tuple(node.inputs)[::-1]):
            made = gate.producer() if gate is not None else None
            if made is None or made.op_type != "Sigmoid":
                continue
            inner = made.inputs[0]
            scaled = inner.producer() if inner is not None else None
            if inner is x or (scaled is not None and scaled.op_type == "Mul" and x in scaled.inputs):
                found += 1
                break
    return found


def grouped(module: ir.Module) -> int:
    """Attentions with fewer heads of keys and values than of queries."""
    found = 0
    for node in module.nodes():
        if node.op_type == "Attention":
            heads = [node.attributes[n].as_int() for n in ("q_num_heads", "kv_num_heads") if n in node.attributes]
            if len(heads) < 2 or not heads[0]:
                shapes = [module.shape(value) for value in node.inputs[:2] if value is not None]
                heads = [shape[1] for shape in shapes if shape is not None]  # pyright: ignore[reportAssignmentType]
            found += heads[0] != heads[1]
    return found


def after(path: Path, steps: tuple[Any, ...]) -> Counter[str]:
    """Operators of what a pipeline leaves, and what it applied."""
    module = ir.load(path)
    infer_all(module)
    outcome = run_pipeline(module, steps)
    found = Counter(node.op_type for node in module.nodes())
    found.update(outcome.applied)
    found["silu"] = silus(module)
    found["grouped attention"] = grouped(module)
    return found


@functools.cache
def standard(name: str) -> Counter[str]:
    path = model(name)
    return after(path, lang.for_model(path, vocabulary()).pipeline)


@pytest.mark.parametrize("name", COUNTS)
def test_the_counts_are_those_of_the_architecture(name: str) -> None:
    found = standard(name)
    assert {what: found[what] for what in COUNTS[name]} == COUNTS[name]


# ---- std.shape changes no count

LIBRARIES = ("activation", "norm", "attention", "linear", "conv", "misc")
#: One of each exporter and kind; each is run three times for each library.
SMALL = (
    "bert_mini_sdpa.ts14",
    "bert_mini_sdpa.dy18",
    "llama_past.ts17",
    "t5_small_encoder.dy18",
    "timm_mobilevit_s.ts13",
    "mobilenet_v3_large.tsraw13",
    "sd_vae_decoder_small.ts17",
    "yolov8n.tsraw13",
)
#: What std.shape itself moves about is no fusion.
FUSED = (
    "Gelu",
    "LayerNormalization",
    "RMSNormalization",
    "GroupNormalization",
    "InstanceNormalization",
    "Attention",
    "RotaryEmbedding",
    "HardSwish",
    "HardSigmoid",
    "BatchNormalization",
    "Softmax",
    "Conv",
    "MatMul",
    "Gemm",
    "silu",
)


def pipeline(body: str) -> tuple[Any, ...]:
    text = f'trtspec 1\nmodel "model.onnx"\npipeline {{\n  simplify()\n{body}}}\n'
    return lang.loads(text, path=Path("zoo.trtspec"), vocabulary=vocabulary()).pipeline


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", SMALL)
def test_shape_before_or_after_changes_no_count(name: str, library: str) -> None:
    path = model(name)
    rules = f"  fixpoint(limit = 8) {{ apply(std.{library})  dce() }}\n"
    shape = "  fixpoint(limit = 8) { apply(std.shape)  dce() }\n"
    alone, before, behind = (after(path, pipeline(body)) for body in (rules, shape + rules, rules + shape))
    expected = {what: alone[what] for what in FUSED}
    assert {what: before[what] for what in FUSED} == expected
    assert {what: behind[what] for what in FUSED} == expected


# ---- what is rewritten computes the same

#: Of each architecture one or two: both exporters where their graphs differ most.
VERIFIED = (
    "bert_mini_sdpa.ts14",
    "bert_mini_sdpa.dy23",
    "bert_base.ts13",
    "distilbert.dy18",
    "gpt2_past.dy18",
    "llama_past.ts17",
    "llama_past.dy23",
    "vit_b_16.dy18",
    "clip_text.ts13",
    "t5_small_encoder.ts13",
    "convnext_tiny.ts13",
    "mobilenet_v3_large.tsraw13",
    "deeplabv3_mobilenet.dy18",
    "efficientnet_b0.tsraw13",
    "yolov8n.tsraw13",
    "yolov5n.ts13",
    "timm_mobilevit_s.ts13",
    "inception_v3.ts13",
    "sd_vae_decoder_small.ts17",
    "resnet50.tsraw13",
    "minilm_int8.pkg",
    "ppocr_rec.pkg",
)


def _benchmark() -> ModuleType:
    place = Path(__file__).parents[2] / "benchmarks" / "zoo.py"
    spec = importlib.util.spec_from_file_location("trtc_zoo_benchmark", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", VERIFIED)
def test_it_verifies_on_the_rungs_graph_and_network(name: str) -> None:
    """trtc's own bound is closer than 1e-4 of an output's scale: 6e-5 of its root mean square and of each element."""
    found = _benchmark().run_one(model(name), False, 900.0)
    assert found["outcome"] == "verified", found.get("reason")
    assert found["rungs"] == {"graph": "passed", "network": "passed"}
