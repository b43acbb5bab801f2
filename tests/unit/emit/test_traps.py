"""Where TensorRT's layers and ONNX's operators differ: which layers stand in the network, with which properties."""

from __future__ import annotations

import numpy as np
import pytest
from emission_harness import build, module_of, trt


def test_ceil_mode_drops_the_window_that_starts_in_the_padding() -> None:
    built = build(
        "(float[1,1,4,4] x) => (float[1,1,2,2] y) { y = MaxPool<kernel_shape = [2,2], strides = [3,3], "
        "pads = [1,1,1,1], ceil_mode = 1>(x) }"
    )
    # 3 by TensorRT's rounding up; ONNX has 2, which here is also what rounding down gives.
    assert built.types() == ["POOLING"]
    layer = built.layer("MaxPool_0", "IPoolingLayer")
    assert layer.padding_mode == trt.PaddingMode.EXPLICIT_ROUND_DOWN
    assert tuple(layer.get_output(0).shape) == (1, 1, 2, 2)


def test_ceil_mode_that_needs_a_crop() -> None:
    built = build(
        "(float[1,1,6,4] x) => (float[1,1,3,2] y) { y = MaxPool<kernel_shape = [3,2], strides = [2,3], "
        "pads = [0,1,0,1], ceil_mode = 1>(x) }"
    )
    assert built.types() == ["POOLING", "SLICE"]
    pool = built.layer("MaxPool_0", "IPoolingLayer")
    assert pool.padding_mode == trt.PaddingMode.EXPLICIT_ROUND_UP
    assert tuple(pool.get_output(0).shape) == (1, 1, 3, 3)
    assert built.outputs()["y"][0] == (1, 1, 3, 2)


def test_average_pool_says_whether_padding_counts() -> None:
    text = "(float[1,1,4,4] x) => (float[1,1,4,4] y) {{ y = AveragePool<kernel_shape = [3,3], pads = [1,1,1,1]{}>(x) }}"
    for more, excludes in (("", True), (", count_include_pad = 1", False)):
        layer = build(text.format(more)).layer("AveragePool_0", "IPoolingLayer")
        assert layer.average_count_excludes_padding is excludes


def test_global_average_pool_is_a_reduction() -> None:
    built = build("(float[N,3,H,W] x) => (float[N,3,1,1] y) { y = GlobalAveragePool(x) }")
    layer = built.layer("GlobalAveragePool_0", "IReduceLayer")
    assert (layer.op, layer.axes, layer.keep_dims) == (trt.ReduceOperation.AVG, 0b1100, True)


def test_clip_of_two_finite_bounds_is_one_layer() -> None:
    built = build("(float[4] x) => (float[4] y) <float a = {0.0}, float b = {6.0}> { y = Clip(x, a, b) }")
    layer = built.layer("Clip_0", "IActivationLayer")
    assert (layer.type, layer.alpha, layer.beta) == (trt.ActivationType.CLIP, 0.0, 6.0)
    assert built.types() == ["ACTIVATION"]


def test_crossed_bounds_are_not_a_clip_layer() -> None:
    built = build("(float[4] x) => (float[4] y) <float a = {2.0}, float b = {1.0}> { y = Clip(x, a, b) }")
    ops = [built.layer(n, "IElementWiseLayer").op for n, t in built.layers() if t == "ELEMENTWISE"]
    assert ops == [trt.ElementWiseOperation.MAX, trt.ElementWiseOperation.MIN]


def test_infinite_bound_is_left_out() -> None:
    module = module_of("(float[4] x) => (float[4] y) <float a = {0.0}, float b = {1.0}> { y = Clip(x, a, b) }")
    module.graph.initializers["b"].const_value = __import__("onnx_ir").tensor(np.float32(np.inf), name="b")
    built = build(module)
    ops = [built.layer(n, "IElementWiseLayer").op for n, t in built.layers() if t == "ELEMENTWISE"]
    assert ops == [trt.ElementWiseOperation.MAX]


@pytest.mark.parametrize(
    ("exponent", "types"),
    [
        ("2.0", ["ELEMENTWISE"]),
        ("3.0", ["ELEMENTWISE", "ELEMENTWISE"]),
        ("0.5", ["UNARY"]),
        ("-1.0", ["UNARY"]),
        ("1.5", ["CONSTANT", "ELEMENTWISE"]),
    ],
)
def test_constant_exponents(exponent: str, types: list[str]) -> None:
    built = build(f"(float[4] x) => (float[4] y) <float e = {{{exponent}}}> {{ y = Pow(x, e) }}")
    assert built.types() == types


def test_greater_or_equal_is_no_negation() -> None:
    built = build("(float[4] a, float[4] b) => (bool[4] y) { y = GreaterOrEqual(a, b) }")
    ops = [built.layer(n, "IElementWiseLayer").op.name for n, _ in built.layers()]
    assert ops == ["GREATER", "EQUAL", "OR"]


def test_integer_mod_floors_and_fmod_truncates() -> None:
    text = "(int64[4] a, int64[4] b) => (int64[4] y) {{ y = Mod{}(a, b) }}"
    for more, op in (("", "FLOOR_DIV"), ("<fmod = 1>", "DIV")):
        built = build(text.format(more))
        assert built.layer("Mod_0/quotient", "IElementWiseLayer").op.name == op


def test_softmax_of_one_dim_runs_on_two() -> None:
    built = build("(float[5] x) => (float[5] y) { y = Softmax(x) }")
    assert built.types() == ["SHUFFLE", "SOFTMAX", "SHUFFLE"]
    layer = built.layer("Softmax_0", "ISoftMaxLayer")
    assert (tuple(layer.get_output(0).shape), layer.axes) == ((5, 1), 1)


def test_constants_of_lower_rank_need_no_layer_to_be_reshaped() -> None:
    built = build("(float[N,3,4] x) => (float[N,3,4] y) <float[4] b = {1.0, 2.0, 3.0, 4.0}> { y = Add(x, b) }")
    assert built.types() == ["CONSTANT", "ELEMENTWISE"]
    assert tuple(built.layer("constant/b", "IConstantLayer").shape) == (1, 1, 4)


def test_batch_normalization_is_one_scale() -> None:
    built = build(
        "(float[N,2,4,4] x) => (float[N,2,4,4] y) <float[2] s = {1.0, 2.0}, float[2] b = {0.5, -0.5}, "
        "float[2] m = {1.0, 2.0}, float[2] v = {3.0, 15.0}> { y = BatchNormalization<epsilon = 1.0>(x, s, b, m, v) }"
    )
    layer = built.layer("BatchNormalization_0", "IScaleLayer")
    assert np.asarray(layer.scale).tolist() == [0.5, 0.5]
    assert np.asarray(layer.shift).tolist() == [0.0, -1.5]
    assert layer.channel_axis == 1


def test_asymmetric_pads_of_a_convolution() -> None:
    built = build(
        "(float[1,1,8,8] x) => (float[1,1,8,8] y) <float[1,1,2,2] w = {1.0, 2.0, 3.0, 4.0}> "
        "{ y = Conv<kernel_shape = [2,2], pads = [0,1,1,0]>(x, w) }"
    )
    layer = built.layer("Conv_0", "IConvolutionLayer")
    assert (tuple(layer.pre_padding), tuple(layer.post_padding)) == ((0, 1), (1, 0))
    assert np.asarray(layer.kernel).tolist() == [1.0, 2.0, 3.0, 4.0]


def test_convolution_over_one_dim() -> None:
    built = build(
        "(float[1,1,8] x) => (float[1,1,4] y) <float[1,1,2] w = {1.0, 2.0}> "
        "{ y = Conv<kernel_shape = [2], strides = [2]>(x, w) }"
    )
    assert built.types() == ["SHUFFLE", "CONVOLUTION", "SHUFFLE"]
    layer = built.layer("Conv_0", "IConvolutionLayer")
    assert (tuple(layer.kernel_size_nd), tuple(layer.stride_nd)) == ((2, 1), (2, 1))


def test_output_padding_beyond_the_trim_gets_the_bias_too() -> None:
    built = build(
        "(float[1,1,4,4] x) => (float[1,1,9,9] y) <float[1,1,2,2] w = {1.0, 2.0, 3.0, 4.0}, float[1] b = {3.0}> "
        "{ y = ConvTranspose<kernel_shape = [2,2], strides = [2,2], output_padding = [1,1]>(x, w, b) }"
    )
    assert [t for t in built.types() if t != "CONSTANT"] == ["DECONVOLUTION", "SLICE", "ELEMENTWISE"]
    assert built.layer("ConvTranspose_0/extend", "ISliceLayer").mode == trt.SampleMode.FILL


def test_slice_to_the_end_is_clamped() -> None:
    built = build(
        "(float[2,8] x) => (float[2,5] y) <int64[1] s = {-5}, int64[1] e = {9223372036854775807}, int64[1] a = {1}> "
        "{ y = Slice(x, s, e, a) }"
    )
    layer = built.layer("Slice_0", "ISliceLayer")
    assert (tuple(layer.start), tuple(layer.shape), tuple(layer.stride)) == ((0, 3), (2, 5), (1, 1))


def test_slice_beside_a_dynamic_dim_has_axes() -> None:
    built = build(
        "(float[N,8] x) => (float[N,3] y) <int64[1] s = {1}, int64[1] e = {7}, int64[1] a = {1}, int64[1] t = {2}> "
        "{ y = Slice(x, s, e, a, t) }"
    )
    assert built.types() == ["SLICE"]
    layer = built.layer("Slice_0", "ISliceLayer")
    assert (tuple(layer.axes), tuple(layer.start), tuple(layer.shape), tuple(layer.stride)) == ((1,), (1,), (3,), (2,))


def test_expand_repeats_by_stride_zero() -> None:
    built = build("(float[3,1] x) => (float[2,3,4] y) <int64[3] s = {2, 3, 4}> { y = Expand(x, s) }")
    layer = built.layer("Expand_0", "ISliceLayer")
    assert (tuple(layer.shape), tuple(layer.stride)) == ((2, 3, 4), (0, 1, 0))


def test_negative_constant_indices_of_a_scatter_are_made_positive() -> None:
    built = build("(float[4,2] x, float[2,2] u) => (float[4,2] y) <int64[2,1] i = {0, -1}> { y = ScatterND(x, i, u) }")
    values = [
        np.asarray(built.layer(n, "IConstantLayer").weights).tolist() for n, t in built.layers() if t == "CONSTANT"
    ]
    assert values == [[0, 3]]


def test_negative_indices_along_a_dynamic_axis_are_made_positive_in_the_network() -> None:
    built = build("(float[N,4] x, int64[3] i) => (float[3,4] y) { y = Gather(x, i) }")
    assert built.types()[-2:] == ["SELECT", "GATHER"]
    static = build("(float[5,4] x, int64[3] i) => (float[3,4] y) { y = Gather(x, i) }")
    assert static.types() == ["GATHER"]


def test_static_shapes_are_numbers() -> None:
    built = build("(float[2,3,4] x) => (float[4,6] y) <int64[2] s = {4, -1}> { y = Reshape(x, s) }")
    assert tuple(built.layer("Reshape_0", "IShuffleLayer").reshape_dims) == (4, 6)


def test_one_dynamic_dim_is_minus_one_and_more_are_copied() -> None:
    one = build("(float[N,3,4] x) => (float[N,12] y) <int64[2] s = {0, -1}> { y = Reshape(x, s) }")
    assert tuple(one.layer("Reshape_0", "IShuffleLayer").reshape_dims) == (-1, 12)
    two = build("(float[N,M,4] x) => (float[N,M,2,2] y) <int64[4] s = {0, 0, 2, 2}> { y = Reshape(x, s) }")
    layer = two.layer("Reshape_0", "IShuffleLayer")
    assert (tuple(layer.reshape_dims), layer.zero_is_placeholder) == ((0, 0, 2, 2), True)


def test_zero_length_is_not_a_copied_dim() -> None:
    built = build("(float[2,0,3] x) => (float[0,6] y) <int64[2] s = {0, 6}> { y = Reshape<allowzero = 1>(x, s) }")
    layer = built.layer("Reshape_0", "IShuffleLayer")
    assert (tuple(layer.reshape_dims), layer.zero_is_placeholder) == ((0, 6), False)


def test_shape_arithmetic_folds_in_tensorrt() -> None:
    """The number of elements of a range is read back from the shape that TensorRT infers: ceil((9 - 0) / 2) = 5."""
    built = build(
        "(float[9,2] x) => (int64[5] y) { s = Shape(x) \n z = Constant<value = int64 {0}>() \n n = Gather(s, z) \n "
        "d = Constant<value = int64 {2}>() \n y = Range(z, n, d) }"
    )
    assert built.outputs()["y"] == ((5,), "INT64")


def test_layer_normalization_has_scale_of_full_rank() -> None:
    built = build(
        "(float[N,T,4] x) => (float[N,T,4] y) <float[4] s = {1.0, 2.0, 3.0, 4.0}> "
        "{ y = LayerNormalization<epsilon = 0.001>(x, s) }"
    )
    layer = built.layer("LayerNormalization_0", "INormalizationLayer")
    assert layer.axes == 0b100
    assert layer.epsilon == pytest.approx(0.001)
    assert tuple(layer.get_input(1).shape) == (1, 1, 4)


def test_quantization_keeps_int8_weights() -> None:
    built = build(
        "(float[N,2] x) => (float[N,3] y) <int8[2,3] w = {10, -20, 30, 1, 2, 3}, float[3] s = {0.02, 0.03, 0.04}> "
        "{ k = DequantizeLinear<axis = 1>(w, s) \n y = MatMul(x, k) }"
    )
    assert built.layer("DequantizeLinear_0", "IDequantizeLayer").axis == 1
    assert built.layer("constant/w", "IConstantLayer").get_output(0).dtype == trt.DataType.INT8


def test_integer_bias_is_dequantized_beforehand() -> None:
    built = build(
        "(float[N,2] x) => (float[N,2] y) <int32[2] b = {100, -50}, float s = {0.5}> "
        "{ c = DequantizeLinear(b, s) \n y = Add(x, c) }"
    )
    assert built.types() == ["CONSTANT", "SHUFFLE", "ELEMENTWISE"]
    assert np.asarray(built.layer("DequantizeLinear_0", "IConstantLayer").weights).tolist() == [50.0, -25.0]


def test_resize_keeps_the_scales_that_the_model_gives() -> None:
    built = build(
        "(float[N,1,5,5] x) => (float[N,1,6,6] y) <float[4] s = {1.0, 1.0, 1.3, 1.3}> "
        '{ y = Resize<nearest_mode = "round_prefer_ceil">(x, "", s) }'
    )
    layer = built.layer("Resize_0", "IResizeLayer")
    assert np.allclose(layer.scales, (1, 1, 1.3, 1.3))
    assert layer.nearest_rounding == trt.ResizeRoundMode.HALF_UP
    assert layer.coordinate_transformation == trt.ResizeCoordinateTransformation.HALF_PIXEL


def test_constants_of_int8_that_are_cast_stay_int8() -> None:
    """TensorRT lets nothing but a dequantization take a constant of int8."""
    built = build(
        "(float[N,3] x) => (float[N,3] y) <int8[3] w = {10, -20, 30}> { c = Cast<to = 1>(w) \n y = Mul(x, c) }"
    )
    assert built.layer("constant/w", "IConstantLayer").get_output(0).dtype == trt.DataType.INT8
    assert np.asarray(built.layer("Cast_0/one", "IConstantLayer").weights).item() == 1.0
    assert "CAST" not in built.types()
