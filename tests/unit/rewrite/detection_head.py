"""A detection head as exporters write it where its outputs have fixed sizes, and the spec that makes it one plugin."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.parser

#: Boxes by center and size, a logit for each class: 300 anchors, 5 classes, the best 50.
MODEL = """<ir_version: 8, opset_import: ["" : 17]>
head (float[2,300,4] xywh, float[2,300,5] logits)
  => (int32[2,1] count, float[2,50,4] kept, float[2,50] best, int32[2,50] classes)
<int64 most = {50}, float iou = {0.5}, float least = {0.3}, int64[2] halves = {2, 2}, float half = {0.5},
 float[1] one = {1.0}, float zero = {0.0}, int64[3] all = {2, 5, 300}, int64[2] rows = {2, -1}, int64[1] k = {50},
 int64 n = {300}, int64[1] last = {2}, int64[1] first = {1}>
{
  scores = Sigmoid(logits)
  xy, wh = Split<axis = 2>(xywh, halves)
  h = Mul(wh, half)
  low = Sub(xy, h)
  high = Add(xy, h)
  boxes = Concat<axis = 2>(low, high)
  by_class = Transpose<perm = [0, 2, 1]>(scores)
  picked = NonMaxSuppression(boxes, by_class, most, iou, least)
  shape = Shape<end = 1>(picked)
  ones = Expand(one, shape)
  zeros = ConstantOfShape(all)
  mask = ScatterND(zeros, picked, ones)
  masked = Mul(by_class, mask)
  flat = Reshape(masked, rows)
  best, at = TopK<axis = 1>(flat, k)
  there = Greater(best, zero)
  there64 = Cast<to = 7>(there)
  place = Mul(at, there64)
  class64 = Div(place, n)
  classes = Cast<to = 6>(class64)
  index = Mod(place, n)
  index3 = Unsqueeze(index, last)
  found = GatherND<batch_dims = 1>(boxes, index3)
  theref = Cast<to = 1>(there)
  there3 = Unsqueeze(theref, last)
  kept = Mul(found, there3)
  there32 = Cast<to = 6>(there)
  count = ReduceSum<keepdims = 1>(there32, first)
}"""

RULES = '''
use std.plugins

"""Non-maximum suppression in every class as a mask over the scores, and the best of what is left."""
rewrite use_efficient_nms {
  match
    by_class = Transpose(scores, perm = [0, 2, 1])
    picked = NonMaxSuppression(boxes, by_class, $most, $iou, $least)
    mask = ScatterND(zeros: const, picked, Expand(1.0, Shape(picked, end = 1)))
    (best, at) = TopK((view(by_class * mask) : float[B, _]), $most, axis = 1, ..)
    there = Greater(best, 0.0)
    place = at * Cast(there, to = i64)
    classes = Cast(place / $anchors, to = i32)
    found = GatherND(boxes, view(Mod(place, $anchors)), batch_dims = 1)
    kept = found * view(Cast(there, to = f32))
    count = ReduceSum(Cast(there, to = i32), axes = [1], keepdims = 1)
  where all_zero(zeros) && $anchors == dim(boxes, 1)
  replace (count, kept, best, classes) with efficient_nms(
    boxes, scores, max_output_boxes = $most, iou_threshold = $iou, score_threshold = $least
  )
  test { boxes: f32[2, 12, 4]  scores: f32[2, 12, 3] }
}
'''

PIPELINE = "pipeline { standard() apply(use_efficient_nms) expect(use_efficient_nms == 1) dce() }\n"


def model() -> onnx.ModelProto:
    return onnx.parser.parse_model(MODEL)


def inputs(seed: int = 0) -> dict[str, np.ndarray]:
    """Boxes of which many overlap."""
    random = np.random.default_rng(seed)
    centers, sizes = random.uniform(0, 300, (2, 300, 2)), random.uniform(20, 80, (2, 300, 2))
    logits = random.normal(0, 1, (2, 300, 5)).astype(np.float32)
    return {"xywh": np.concatenate([centers, sizes], -1).astype(np.float32), "logits": logits}
