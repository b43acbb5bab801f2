"""Values for attributes and for inputs that are lists of integers, by operator and name."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import onnx_ir as oir

from trtc.ir.infer.choices import CHOICES
from trtc.rewrite.refute.shapes import Shape
from trtc.rewrite.refute.tape import Rejected, Tape

#: Numbers for scalars that nothing says more about; the first is the simplest.
NUMBERS = (1.0, 0.5, 2.0, 0.125, 1e-5, 1e-6, 3.0, 0.1, -1.0, 1e-3, 0.0, -0.25, 10.0, 6.0)
_DTYPES = (oir.DataType.FLOAT, oir.DataType.FLOAT16, oir.DataType.DOUBLE, oir.DataType.INT64, oir.DataType.INT32)

#: Attributes that are 0 or 1.
_FLAGS = frozenset(
    {"keepdims", "transA", "transB", "ceil_mode", "count_include_pad", "is_causal", "largest", "sorted"}
    | {"noop_with_empty_axes", "exclusive", "reverse", "select_last_index", "interleaved", "upper", "storage_order"}
)


class Sampler:
    """Answers for one operator whose tensor inputs are known.

    shapes: of the inputs, None where one is absent or not made yet. known: the attributes so far. numbers: what to
    take for a scalar besides `NUMBERS`.
    """

    def __init__(
        self, tape: Tape, op: str, shapes: Sequence[Shape | None], known: Mapping[str, Any], numbers: Sequence[float]
    ) -> None:
        self.tape = tape
        self.op = op
        self.shapes = shapes
        self.known = known
        self.numbers = numbers

    @property
    def x(self) -> Shape:
        if not self.shapes or self.shapes[0] is None:
            raise Rejected(f"{self.op} has no shape to go by")
        return self.shapes[0]

    def number(self, label: str) -> float:
        """A scalar."""
        pool = (*self.numbers, *NUMBERS)
        weights = [4.0 / max(len(self.numbers), 1)] * len(self.numbers) + [2, 2, 2, *[1] * (len(NUMBERS) - 3)]
        return self.tape.pick(label, pool, weights)

    def text(self, label: str, name: str) -> str:
        allowed = CHOICES.get(self.op, {}).get(name)
        if name == "equation":
            raise Rejected("only guards say what an equation of Einsum may be")
        if not allowed:
            raise Rejected(f"no text is known for `{name}` of {self.op}")
        # Withdrawn since opset 13; ONNX Runtime warns of each.
        return self.tape.pick(label, [one for one in allowed if one != "tf_half_pixel_for_nn"])

    def integer(self, label: str, name: str) -> int:
        """One integer: an attribute, or an element of a list input."""
        pick, op = self.tape.pick, self.op
        if name in _FLAGS:
            return pick(label, (0, 1))
        if name == "to":
            return int(pick(label, (self.base, *_DTYPES), (6, 5, 4, 1, 1, 1)))
        if name in ("axis", "batch_dims") or (name in ("axes",) and op != "Unsqueeze"):
            rank = len(self.x)
            if name == "batch_dims":
                return pick(label, (0, 1))
            axes = [*range(rank)] or [0]
            order = [axes[-1], *axes[:-1]]
            return pick(label, [*order, *(a - rank for a in order if rank)])
        if name == "axes":
            return pick(label, range(len(self.x) + 1))
        if name == "group":
            return self._group(label)
        if name == "num_groups":
            return pick(label, [d for d in range(1, self.x[1] + 1) if self.x[1] % d == 0])
        if name in ("q_num_heads", "kv_num_heads", "num_heads"):
            width = self.x[-1]
            return pick(label, [d for d in (1, 2, 4, 3) if width % d == 0])
        if name == "blocksize":
            return pick(label, (2, 1, 3))
        if name in ("starts", "start", "ends", "end"):
            return self._bound(label, name)
        if name == "steps":
            return -1 if self._reversed() else pick(label, (1, 2, -1), (12, 1, 1))
        if name == "num_outputs":
            return pick(label, (2, 3, 1))
        if name == "p":
            return pick(label, (2, 1))
        if name in ("stash_type", "softmax_precision"):
            return 1
        if name == "k":
            return pick(label, (0, 1, -1, 2))
        return pick(label, (1, 2, 0, 3, -1), (3, 2, 2, 1, 1))

    def integers(self, label: str, name: str, count: int | None = None) -> tuple[int, ...]:
        """A list of integers."""
        pick, draw, op = self.tape.pick, self.tape.draw, self.op
        if name == "perm":
            return self._perm(label, len(self.x))
        if name == "axes":
            return self._axes(label)
        spatial = max(len(self.x) - 2, 0)
        if name in ("strides", "dilations"):
            if draw(f"{label}/plain", 3) < 2:
                return (pick(label, (1, 2), (2, 1)),) * spatial
            return tuple(pick(f"{label}/{k}", (1, 2, 3), (3, 2, 1)) for k in range(spatial))
        if name == "kernel_shape":
            weight = self.shapes[1] if len(self.shapes) > 1 else None
            if weight is not None:
                return weight[2:]
            return tuple(pick(f"{label}/{k}", (2, 3, 1, 4), (3, 4, 1, 1)) for k in range(spatial))
        if name == "output_padding":
            strides = self.known.get("strides", (1,) * spatial)
            return tuple(pick(f"{label}/{k}", range(s)) for k, s in enumerate(strides))
        if name == "pads" and op == "Pad":
            return self._pad(label)
        if name == "pads":
            weight = self.shapes[1] if len(self.shapes) > 1 else None
            kernel: Shape = self.known.get("kernel_shape") or (weight[2:] if weight is not None else (2,) * spatial)
            mode = draw(f"{label}/mode", 3)
            if mode == 0:
                return (0,) * (2 * spatial)
            if mode == 1:
                return (pick(label, (1, 0)),) * (2 * spatial) if min(kernel, default=1) > 1 else (0,) * (2 * spatial)
            return tuple(pick(f"{label}/{k}", range(max(kernel[k % spatial], 1))) for k in range(2 * spatial))
        if name == "split":
            return self._split(label, count)
        if name == "shape" and op == "Expand":
            return self._expand(label)
        if name == "repeats":
            if draw(f"{label}/once", 3) == 2:
                return (1,) * len(self.x)
            return tuple(pick(f"{label}/{k}", (1, 2, 3), (4, 2, 1)) for k in range(len(self.x)))
        if name in ("starts", "ends", "steps"):
            for other in ("axes", "starts", "ends", "steps"):
                count = len(self.known[other]) if other in self.known else count
            count = min(count or pick("slice/count", (1, 2)), max(len(self.x), 1))
            return tuple(self.integer(f"{label}/{k}", name) for k in range(count))
        if name == "sizes":
            return (*self.x[:2], *(pick(f"{label}/{k}", (d, 2 * d, max(d // 2, 1))) for k, d in enumerate(self.x[2:])))
        raise Rejected(f"no list is known for `{name}` of {op}")

    def floats(self, label: str, name: str) -> tuple[float, ...]:
        """A list of numbers (`scales` of Resize)."""
        if name == "scales":
            scales = (self.tape.pick(f"{label}/{k}", (2.0, 1.0, 0.5, 3.0)) for k in range(len(self.x) - 2))
            return (1.0, 1.0, *scales)
        raise Rejected(f"no list is known for `{name}` of {self.op}")

    def _bound(self, label: str, name: str) -> int:
        """Where a slice begins or ends: at either end, in the middle, or near an end."""
        axes = self.known.get("axes") or (-1,)
        size = self.x[axes[0]] if self.op == "Slice" and self.x and -len(self.x) <= axes[0] < len(self.x) else 4
        half = max(size // 2, 1)
        if self.op == "Slice" and self._reversed():
            return -1 if name == "starts" else -(2**31)
        if name in ("starts", "start"):
            return self.tape.pick(label, (0, half, 1, 2, -1, -half), (5, 3, 2, 1, 1, 1))
        if self.tape.draw("slices/to the end", 4):
            return self.tape.pick(label, (2**31 - 1, size, 2**63 - 1))
        return self.tape.pick(label, (2**31 - 1, half, size, 2**63 - 1, 1, 2, -1), (4, 4, 3, 2, 1, 1, 1))

    def _reversed(self) -> bool:
        """Whether the slices of the instance turn their axes round."""
        return self.tape.draw("slices/reversed", 12) == 11

    def _group(self, label: str) -> int:
        weight = self.shapes[1] if _has(self.shapes, 1) else None
        if weight is None or len(self.x) < 2:
            return self.tape.pick(label, (1, 2))
        if self.op == "ConvTranspose":
            options = [g for g in range(1, self.x[1] + 1) if self.x[1] % g == 0 and weight[0] == self.x[1]]
            return self.tape.pick(label, options)
        if self.x[1] % weight[1] or weight[0] % (self.x[1] // weight[1]):
            raise Rejected("channels do not fit the weight")
        return self.x[1] // weight[1]

    def _perm(self, label: str, rank: int) -> tuple[int, ...]:
        swapped = (*range(rank - 2), rank - 1, rank - 2) if rank > 1 else tuple(range(rank))
        ready: list[tuple[int, ...]] = [swapped, tuple(range(rank)), tuple(range(rank))[::-1]]
        if rank == 4:
            ready += [(0, 2, 1, 3), (0, 2, 3, 1), (0, 3, 1, 2)]
        ready += [p for p in self.perms if len(p) == rank]
        ready += [tuple(sorted(range(rank), key=p.__getitem__)) for p in self.perms if len(p) == rank]
        kind = self.tape.draw(f"{label}/kind", len(ready) + 4)
        if kind < len(ready):
            return ready[kind]
        left, made = list(range(rank)), list[int]()
        for k in range(rank):
            made.append(left.pop(self.tape.draw(f"{label}/{k}", len(left))))
        return tuple(made)

    outputs: int = 1
    """How many outputs the operator has."""
    base: oir.DataType = oir.DataType.FLOAT
    """What most floats of the instance are."""
    perms: Sequence[tuple[int, ...]] = ()
    """Permutations that this instance has already."""

    def _axes(self, label: str) -> tuple[int, ...]:
        rank, draw = len(self.x), self.tape.draw
        if self.op == "Squeeze":
            ones = [a for a, d in enumerate(self.x) if d == 1]
            if not ones:
                raise Rejected("there is nothing to squeeze")
            chosen = [a for a in ones if draw(f"{label}/{a}", 2) == 0] or ones[:1]
            return tuple(chosen)
        if self.op == "Unsqueeze":
            count = 1 + draw(f"{label}/count", 2)
            options = [*itertools.combinations(range(rank + count), count)]
            return self.tape.pick(label, options)
        if rank == 0:
            raise Rejected("a scalar has no axes")
        kind = draw(f"{label}/kind", 5)
        if kind == 0:
            return (-1,)
        if kind == 1:
            count = 1 + draw(f"{label}/count", rank)
            return tuple(range(rank - count, rank))
        if kind == 2 and rank > 2:
            return tuple(range(2, rank))
        if kind == 3:
            return (draw(label, rank),)
        return tuple(a for a in range(rank) if draw(f"{label}/{a}", 2)) or (rank - 1,)

    def _pad(self, label: str) -> tuple[int, ...]:
        rank = len(self.known["axes"]) if "axes" in self.known else len(self.x)
        if self.tape.draw(f"{label}/none", 4) == 3:
            return (0,) * (2 * rank)
        if self.tape.draw(f"{label}/moved", 10) == 9:
            # As much less behind as there is more in front: another tensor of the same shape.
            return tuple(1 if k == rank - 1 else -1 if k == 2 * rank - 1 else 0 for k in range(2 * rank))
        first = 2 if rank > 2 and self.tape.draw(f"{label}/spatial", 4) else 0
        before = [
            self.tape.pick(f"{label}/{k}", (0, 1, 2), (2, 3, 1)) if k % rank >= first else 0 for k in range(2 * rank)
        ]
        return tuple(before)

    def _split(self, label: str, count: int | None) -> tuple[int, ...]:
        axis: int = self.known.get("axis", 0)
        total = self.x[axis]
        count = count or self.outputs
        if total < count:
            raise Rejected("too few to split")
        if total % count == 0 and self.tape.draw(f"{label}/equal", 3) < 2:
            return (total // count,) * count
        parts: list[int] = []
        for k in range(count - 1):
            parts.append(1 + self.tape.draw(f"{label}/{k}", total - sum(parts) - (count - k - 1)))
        return (*parts, total - sum(parts))

    def _expand(self, label: str) -> tuple[int, ...]:
        # What is repeated is mostly one new axis; pairs stand behind.
        grown = [
            d if d != 1 else self.tape.pick(f"{label}/{k}", (1, 2, 3), (2, 4, 1) if k == len(self.x) - 1 else (4, 2, 1))
            for k, d in enumerate(self.x)
        ]
        if self.tape.draw(f"{label}/more", 4) == 3:
            grown = [self.tape.pick(f"{label}/front", (1, 2)), *grown]
        if self.tape.draw(f"{label}/ones", 4) == 3:
            grown = [
                1 if self.tape.draw(f"{label}/one{k}", 2) and d == e else d
                for k, (d, e) in enumerate(zip(grown, self.x, strict=False))
            ]
        return tuple(grown)


def _has(shapes: Sequence[Shape | None], at: int) -> bool:
    return len(shapes) > at and shapes[at] is not None


__all__ = ["NUMBERS", "Sampler"]
