# ruff: noqa: E501 - graphs are one line each
"""Convolutions, pools and resizing: attributes written out, padding resolved, old coordinate rules, by value."""

from itertools import product

import numpy as np
import pytest
from canonical_oracle import Case, canonical, check, parse, proto, run, same

IMAGE = ({"N": 1, "H": 7, "W": 8}, {"N": 2, "H": 10, "W": 5})

CASES = [
    Case(
        "conv",
        7,
        "g (float[N,2,H,W] x, float[3,2,3,2] w) => (float[N,3,h,v] y) { y = Conv(x, w) }",
        ("Conv",),
        IMAGE,
        tolerance=1e-4,
    ),
    Case(
        "conv_valid",
        11,
        'g (float[N,2,H,W] x, float[3,2,3,2] w) => (float[N,3,h,v] y) { y = Conv<auto_pad="VALID", strides=[2,1]>(x, w) }',
        ("Conv",),
        IMAGE,
        tolerance=1e-4,
    ),
    Case(
        "conv_same_dynamic",
        11,
        'g (float[N,2,H,W] x, float[3,2,3,2] w) => (float[N,3,h,v] y) { y = Conv<auto_pad="SAME_UPPER", strides=[2,2]>(x, w) }',
        ("Conv",),
        IMAGE,
        tolerance=1e-4,
    ),
    Case(
        "max_pool_1",
        1,
        "g (float[N,2,H,W] x) => (float[N,2,h,v] y) { y = MaxPool<kernel_shape=[2,2]>(x) }",
        ("MaxPool",),
        IMAGE,
    ),
    Case(
        "average_pool_7",
        7,
        "g (float[N,2,H,W] x) => (float[N,2,h,v] y) { y = AveragePool<kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2]>(x) }",
        ("AveragePool",),
        IMAGE,
    ),
    Case(
        "lp_pool",
        2,
        "g (float[N,2,H,W] x) => (float[N,2,h,v] y) { y = LpPool<kernel_shape=[2,3], p=1>(x) }",
        ("LpPool",),
        IMAGE,
    ),
    Case(
        "global_lp_pool_float_order",
        1,
        "g (float[N,2,H,W] x) => (float[N,2,1,1] y) { y = GlobalLpPool<p=2.0>(x) }",
        ("GlobalLpPool",),
        IMAGE,
        oracle=lambda x: np.sqrt((x * x).sum((2, 3), keepdims=True)),
        tolerance=1e-5,
    ),
    Case(
        "upsample_7_nearest",
        7,
        "g (float[N,1,H,W] x) => (float[N,1,h,v] y) { y = Upsample<scales=[1.0,1.0,2.0,1.7]>(x) }",
        ("Resize",),
        IMAGE,
    ),
    Case(
        "upsample_7_linear",
        7,
        'g (float[N,1,H,W] x) => (float[N,1,h,v] y) { y = Upsample<mode="linear", scales=[1.0,1.0,2.0,3.0]>(x) }',
        ("Resize",),
        IMAGE,
    ),
    Case(
        "upsample_9",
        9,
        "g (float[N,1,H,W] x) => (float[N,1,h,v] y) <float[4] s = {1.0,1.0,2.0,2.0}> { y = Upsample(x, s) }",
        ("Resize",),
        IMAGE,
    ),
    Case(
        "upsample_1",
        1,
        'g (float[N,1,2,3] x) => (float[N,1,4,9] y) { y = Upsample<height_scale=2.0, width_scale=3.0, mode="nearest">(x) }',
        ("Resize",),
        oracle=lambda x: x.repeat(2, 2).repeat(3, 3),
    ),
    Case(
        "resize_10_shrinks_upwards",
        10,
        "g (float[N,1,H,W] x) => (float[N,1,h,v] y) <float[4] s = {1.0,1.0,0.6,0.7}> { y = Resize(x, s) }",
        ("Resize",),
        IMAGE,
    ),
    Case(
        "resize_10_both_ways",
        10,
        "g (float[N,1,H,W] x) => (float[N,1,h,v] y) <float[4] s = {1.0,1.0,0.6,1.7}> { y = Resize(x, s) }",
        ("Max", "Min", "Resize", "Resize"),
        IMAGE,
    ),
    Case(
        "resize_10_scales_at_run_time",
        10,
        "g (float[N,1,H,W] x, float[4] s) => (float[N,1,h,v] y) { y = Resize(x, s) }",
        ("Max", "Min", "Resize", "Resize"),
        IMAGE,
        feeds={"s": np.array([1, 1, 2.5, 0.5], dtype=np.float32)},
    ),
    Case(
        "resize_10_linear",
        10,
        'g (float[N,1,H,W] x) => (float[N,1,h,v] y) <float[4] s = {1.0,1.0,0.6,2.0}> { y = Resize<mode="linear">(x, s) }',
        ("Resize",),
        IMAGE,
    ),
    Case(
        "resize_11_sizes",
        11,
        'g (float[N,1,H,W] x, int64[4] z) => (float[N,1,h,v] y) <float[0] r = {}, float[0] s = {}> { y = Resize<mode="linear", coordinate_transformation_mode="align_corners">(x, r, s, z) }',
        ("Resize",),
        ({"N": 2, "H": 7, "W": 8}, {"N": 2, "H": 3, "W": 9}),
        feeds={"z": np.array([2, 1, 5, 11])},
    ),
    Case(
        "resize_11_scales",
        11,
        "g (float[N,1,H,W] x) => (float[N,1,h,v] y) <float[0] r = {}, float[4] s = {1.0,1.0,1.5,0.5}> { y = Resize(x, r, s) }",
        ("Resize",),
        IMAGE,
    ),
    Case(
        "resize_11_crop",
        11,
        'g (float[1,1,H,W] x, float[8] r, int64[4] z) => (float[1,1,h,v] y) <float[0] s = {}> { y = Resize<mode="linear", coordinate_transformation_mode="tf_crop_and_resize">(x, r, s, z) }',
        ("Resize",),
        IMAGE,
        feeds={
            "z": np.array([1, 1, 3, 3]),
            "r": np.array([0, 0, 0.2, 0.1, 1, 1, 0.7, 0.9], dtype=np.float32),
        },
    ),
    Case(
        "grid_sample_names",
        16,
        'g (float[N,1,H,W] x, float[N,3,3,2] z) => (float[N,1,3,3] y) { y = GridSample<mode="bicubic">(x, z) }',
        ("GridSample",),
        IMAGE,
        tolerance=1e-5,
    ),
    Case(
        "roi_align_10",
        10,
        "g (float[1,2,H,W] x, float[2,4] r, int64[2] b) => (float[2,2,2,2] y) { y = RoiAlign<output_height=2, output_width=2, sampling_ratio=2>(x, r, b) }",
        ("RoiAlign",),
        IMAGE,
        feeds={
            "r": np.array([[0.5, 0.5, 3, 4], [1, 1, 4, 2.5]], dtype=np.float32),
            "b": np.array([0, 0]),
        },
    ),
    Case(
        "dft_axis",
        17,
        "g (float[N,8,1] x) => (float[N,8,2] y) { y = DFT(x) }",
        ("DFT",),
        tolerance=1e-4,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_values(case: Case) -> None:
    check(case)


def test_roi_align_of_opset_10_has_no_half_pixel() -> None:
    case = next(c for c in CASES if c.name == "roi_align_10")
    node = canonical(parse(case.opset, case.graph)).graph[0]
    assert node.attributes["coordinate_transformation_mode"].value == "output_half_pixel"
    assert node.attributes["mode"].value == "avg"


def test_conv_says_everything() -> None:
    node = check(CASES[0]).graph[0]
    assert {name: attr.value for name, attr in node.attributes.items()} == {
        "auto_pad": "NOTSET",
        "dilations": (1, 1),
        "group": 1,
        "kernel_shape": (3, 2),
        "pads": (0, 0, 0, 0),
        "strides": (1, 1),
    }


def test_same_padding_of_unknown_sizes_stays() -> None:
    node = check(next(c for c in CASES if c.name == "conv_same_dynamic")).graph[0]
    assert node.attributes["auto_pad"].value == "SAME_UPPER"
    assert "pads" not in node.attributes


def _sweep(op: str, weights: str, extra: str) -> list[tuple[str, int, int, int, int]]:
    """Graphs with automatic padding, one spatial dim: (text, size, kernel, stride, dilation)."""
    found = []
    for mode, size, kernel, stride, dilation in product(
        ("SAME_UPPER", "SAME_LOWER", "VALID"), (5, 6), (1, 2, 3), (1, 2, 3), (1, 2)
    ):
        if dilation > 1 and op == "AveragePool":
            continue
        attributes = f'auto_pad="{mode}", kernel_shape=[{kernel}], strides=[{stride}]{extra}'
        if op != "AveragePool":
            attributes += f", dilations=[{dilation}]"
        second = f", float[{weights},{kernel}] w" if weights else ""
        text = f"g (float[1,2,{size}] x{second}) => (float[1,c,k] y) {{ y = {op}<{attributes}>(x{', w' if weights else ''}) }}"
        found.append((text, size, kernel, stride, dilation))
    return found


@pytest.mark.parametrize(
    ("op", "weights", "extra"),
    [
        ("Conv", "3,2", ""),
        ("MaxPool", "", ""),
        ("MaxPool", "", ", ceil_mode=1"),
        ("AveragePool", "", ""),
        ("AveragePool", "", ", count_include_pad=1"),
        ("ConvTranspose", "2,3", ""),
    ],
)
def test_automatic_padding_becomes_pads(op: str, weights: str, extra: str) -> None:
    tried = 0
    for text, size, kernel, stride, dilation in _sweep(op, weights, extra):
        model = parse(11, text)
        restated = canonical(model)
        node = restated.graph[0]
        random = np.random.default_rng(size + kernel)
        feeds = {"x": random.standard_normal((1, 2, size)).astype(np.float32)}
        if weights:
            shape = [int(n) for n in weights.split(",")]
            feeds["w"] = random.standard_normal((*shape, kernel)).astype(np.float32)
        beyond = -(-size // stride) * stride - stride + kernel - size
        try:
            if op.endswith("Pool") and "SAME" in text and dilation == 1 and beyond < 0:
                # Nothing is padded, and nothing cut off either: ONNX Runtime 1.23 moves the windows instead.
                starts = np.arange(0, size, stride)[:, None] + np.arange(kernel)
                wanted = [(np.max if op == "MaxPool" else np.mean)(feeds["x"][:, :, starts], -1)]
            else:
                wanted = run(model, feeds)
        except Exception:
            # ONNX Runtime refuses some of them (a pad as wide as the kernel).
            continue
        tried += 1
        if node.attributes["auto_pad"].value != "NOTSET":
            # A dilated pool, or an output larger than the kernel reaches, which pads cannot say.
            assert (op == "MaxPool" and dilation > 1) or stride > (kernel - 1) * dilation + 1
        same(run(proto(restated), feeds), wanted, 1e-4)
    assert tried > 30


@pytest.mark.parametrize("mode", ["NOTSET", "SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("size", [10, 11, 12])
@pytest.mark.parametrize("opset", [7, 11])
def test_output_shape_of_transposed_convolution_becomes_pads(mode: str, size: int, opset: int) -> None:
    text = (
        "g (float[1,2,5] x, float[2,3,4] w) => (float[1,3,k] y) "
        f'{{ y = ConvTranspose<auto_pad="{mode}", output_shape=[{size}], strides=[2]>(x, w) }}'
    )
    model = parse(opset, text)
    restated = canonical(model)
    attributes = restated.graph[0].attributes
    assert "output_shape" not in attributes
    assert sum(attributes["pads"].value) == 12 - size
    random = np.random.default_rng(size)
    feeds = {
        "x": random.standard_normal((1, 2, 5)).astype(np.float32),
        "w": random.standard_normal((2, 3, 4)).astype(np.float32),
    }
    same(run(proto(restated), feeds), run(model, feeds), 1e-4)


@pytest.mark.parametrize("opset", [10, 11, 19])
@pytest.mark.parametrize("include", [0, 1])
@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
def test_ceil_mode_keeps_its_values(op: str, include: int, opset: int) -> None:
    for size, kernel, stride, pad in [(4, 2, 3, 1), (6, 3, 4, 1), (3, 2, 2, 1), (2, 2, 3, 1), (7, 3, 2, 0)]:
        extra = f", count_include_pad={include}" if op == "AveragePool" else ""
        text = (
            f"g (float[1,1,{size}] x) => (float[1,1,k] y) {{ y = {op}<ceil_mode=1, kernel_shape=[{kernel}], "
            f"strides=[{stride}], pads=[{pad},{pad}]{extra}>(x) }}"
        )
        model = parse(opset, text)
        feeds = {"x": np.arange(1, size + 1, dtype=np.float32).reshape(1, 1, size)}
        same(run(proto(canonical(model)), feeds), run(model, feeds))


@pytest.mark.parametrize("rounding", ["floor", "round_prefer_floor"])
def test_half_pixel_of_tensorflow(rounding: str) -> None:
    for size, scale in product((4, 5, 7), (0.5, 0.6, 1.5, 2.0, 3.0)):
        text = (
            f"g (float[1,1,{size}] x) => (float[1,1,k] y) <float[0] r = {{}}, float[3] s = {{1.0, 1.0, {scale}}}> "
            f'{{ y = Resize<coordinate_transformation_mode="tf_half_pixel_for_nn", nearest_mode="{rounding}">(x, r, s) }}'
        )
        model = parse(11, text)
        feeds = {"x": np.arange(size, dtype=np.float32).reshape(1, 1, size)}
        same(run(proto(canonical(model)), feeds), run(model, feeds))
