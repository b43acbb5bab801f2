"""LSTM, GRU and RNN as loops over time.

Everything that does not depend on the state stands before the loop: the products of all steps with W, the biases, and
which steps of which sequence count. A direction is a loop; one step needs none.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx_ir as oir

from trtc.emit.facts import Facts, attr, given, input_at, refuse, used
from trtc.emit.registry import operator
from trtc.emit.scope import Scope
from trtc.emit.weights import NUMPY

#: Gates in the rows of W and R, and activations of one direction.
_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
_DEFAULTS = {"LSTM": ("Sigmoid", "Tanh", "Tanh"), "GRU": ("Sigmoid", "Tanh"), "RNN": ("Tanh",)}

#: By lower-case name: TensorRT's activation, and the defaults of alpha and beta (None: it has none).
_ACTIVATIONS: dict[str, tuple[str, float | None, float | None]] = {
    "relu": ("RELU", None, None),
    "tanh": ("TANH", None, None),
    "sigmoid": ("SIGMOID", None, None),
    "softsign": ("SOFTSIGN", None, None),
    "softplus": ("SOFTPLUS", None, None),
    "leakyrelu": ("LEAKY_RELU", 0.01, None),
    "thresholdedrelu": ("THRESHOLDED_RELU", 1.0, None),
    "elu": ("ELU", 1.0, None),
    "hardsigmoid": ("HARD_SIGMOID", 0.2, 0.5),
    "scaledtanh": ("SCALED_TANH", 1.0, 1.0),
    "affine": ("affine", 1.0, 0.0),
}

Activation = Callable[[Any, str], Any]
Step = Callable[[Any, Sequence[Any]], list[Any]]


def _directions(node: oir.Node) -> tuple[bool, ...]:
    """Whether each direction runs backwards."""
    return {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}[attr(node, "direction", "forward")]


@dataclass(frozen=True, slots=True)
class _Function:
    """An activation of the operator with its parameters."""

    kind: str
    alpha: float | None
    beta: float | None


def _functions(node: oir.Node) -> list[tuple[_Function, ...]]:
    """The activations of each direction.

    `activation_alpha` and `activation_beta` are consumed in order by the activations that have such a parameter.
    """
    defaults = _DEFAULTS[node.op_type]
    directions = _directions(node)
    names = attr(node, "activations") or defaults * len(directions)
    needed = len(defaults) * len(directions)
    if node.op_type == "RNN":
        # ONNX gives it two by default, whatever the direction.
        names = names[:needed]
    if len(names) != needed:
        refuse(f"{len(names)} activations, where {needed} are needed")
    alphas, betas = list(attr(node, "activation_alpha") or ()), list(attr(node, "activation_beta") or ())
    found: list[_Function] = []
    for name in names:
        known = _ACTIVATIONS.get(name.lower())
        if known is None:
            refuse(f"the activation {name}")
        kind, alpha, beta = known
        if alpha is not None and alphas:
            alpha = alphas.pop(0)
        if beta is not None and betas:
            beta = betas.pop(0)
        found.append(_Function(kind, alpha, beta))
    step = len(defaults)
    return [tuple(found[at : at + step]) for at in range(0, len(found), step)]


def _check(facts: Facts, node: oir.Node) -> None:
    _functions(node)
    shape = facts.shape(given(node, 2))
    if not isinstance(shape[2], int):
        refuse("the hidden size is not known when the network is built")


@operator("LSTM", "GRU", "RNN", typed=(0, 1, 2, 3, 5, 6, 7), check=_check)
def recurrent(s: Scope, node: oir.Node) -> Any:
    """Outputs Y [seq, directions, batch, hidden], Y_h and Y_c [directions, batch, hidden]; layout 1: batch first."""
    batch_first = bool(attr(node, "layout", 0))
    x = s.input(node, 0)
    if batch_first:
        x = s.transpose(x, (1, 0, 2), "time_first")
    runs = [_Run(s, node, x, at, backwards) for at, backwards in enumerate(_directions(node))]
    sides = [run.emit() for run in runs]
    axes = (2 if batch_first else 1, 1 if batch_first else 0, 1 if batch_first else 0)
    outputs: list[Any] = []
    for at, axis in enumerate(axes[: len(node.outputs)]):
        if not used(node, at):
            outputs.append(None)
            continue
        parts = [side[at] for side in sides]
        if at == 0 and batch_first:
            parts = [s.transpose(part, (1, 0, 2), "batch_first") for part in parts]
        parts = [s.unsqueeze(part, [axis], "direction") for part in parts]
        outputs.append(s.concat(parts, axis, "directions"))
    return tuple(outputs)


class _Run:
    """One direction."""

    def __init__(self, s: Scope, node: oir.Node, x: Any, at: int, backwards: bool) -> None:
        self.s = s
        self.node = node
        self.x = x
        """[seq, batch, in]"""
        self.at = at
        self.backwards = backwards
        self.label = "backward" if backwards else "forward"
        self.op = node.op_type
        self.dtype = s.type_of(x)
        hidden = s.shape(given(node, 2))[2]
        assert isinstance(hidden, int)
        self.hidden = hidden
        self.gates = _GATES[self.op]
        self.clip = float(attr(node, "clip", 0.0) or 0.0)
        self.functions = [self.activation(f) for f in _functions(node)[at]]
        self.batch = s.sizes(x)[1]
        self.linear_before_reset = self.op == "GRU" and bool(attr(node, "linear_before_reset", 0))

    def part(self, name: str) -> str:
        return f"{self.label}/{name}"

    # ---- weights of this direction

    def weight(self, index: int, name: str) -> Any | None:
        """Input `index` of this direction, without the axis of directions."""
        value = input_at(self.node, index)
        if value is None:
            return None
        array = self.s.array(value)
        if array is not None:
            return self.s.constant(array[self.at], self.dtype, self.part(name))
        tensor = self.s.tensor(value)
        one = self.s.slice(tensor, {0: (self.at, 1, 1)}, self.part(f"{name}/direction"))
        return self.s.squeeze(one, [0], self.part(name))

    def columns(self, tensor: Any, first: int, count: int, part: str) -> Any:
        """Gates `first` .. `first + count` of the last axis of a [1, n] or [batch, n]."""
        ranges: dict[int, tuple[Any, Any, Any]] = {1: (first * self.hidden, count * self.hidden, 1)}
        if not self.s.caps.slice_axes:
            ranges[0] = (0, 1 if tensor.shape[0] == 1 else self.batch, 1)
        return self.s.slice(tensor, ranges, self.part(part))

    def biases(self) -> tuple[Any | None, Any | None]:
        """What is added before the loop [1, gates * hidden], and what stays with the state [1, hidden].

        Only a GRU with `linear_before_reset` keeps the state's bias of its last gate apart.
        """
        s, value, size = self.s, input_at(self.node, 3), self.gates * self.hidden
        if value is None:
            return None, None
        array = s.array(value)
        inner = slice(2 * self.hidden, None)
        if array is not None:
            both = array[self.at].astype(np.float64).reshape(2, size)
            kept = both[1, inner].copy()
            if self.linear_before_reset:
                both[1, inner] = 0
            outer = s.constant(both.sum(0).astype(NUMPY[self.dtype]), self.dtype, self.part("bias"), (1, size))
            if not self.linear_before_reset:
                return outer, None
            return outer, s.constant(
                kept.astype(NUMPY[self.dtype]), self.dtype, self.part("state_bias"), (1, self.hidden)
            )
        both = s.reshape(self.weight(3, "biases"), [2, size], self.part("biases/two"))
        of_x = s.slice(both, {0: (0, 1, 1), 1: (0, size, 1)}, self.part("bias_of_x"))
        of_h = s.slice(both, {0: (1, 1, 1), 1: (0, size, 1)}, self.part("bias_of_h"))
        if not self.linear_before_reset:
            return s.elementwise("SUM", of_x, of_h, self.part("bias")), None
        first = self.columns(of_h, 0, 2, "bias_of_gates")
        zeros = s.constant(np.zeros((1, self.hidden), NUMPY[self.dtype]), self.dtype, self.part("no_bias"))
        padded = s.concat([first, zeros], 1, self.part("bias_of_gates/padded"))
        return s.elementwise("SUM", of_x, padded, self.part("bias")), self.columns(of_h, 2, 1, "state_bias")

    def initial(self, index: int, name: str) -> Any:
        """The state before the first step, [batch, hidden]."""
        s, value = self.s, input_at(self.node, index)
        if value is None:
            if isinstance(self.batch, int):
                zeros = np.zeros((self.batch, self.hidden), NUMPY[self.dtype])
                return s.constant(zeros, self.dtype, self.part(name))
            zero = s.constant(np.zeros((1, 1), NUMPY[self.dtype]), self.dtype, self.part(f"{name}/zero"))
            return s.broadcast(zero, [self.batch, self.hidden], self.part(name))
        array = s.array(value)
        batch_first = bool(attr(self.node, "layout", 0))
        if array is not None:
            return s.constant(array[:, self.at] if batch_first else array[self.at], self.dtype, self.part(name))
        axis = 1 if batch_first else 0
        one = s.slice(s.tensor(value), {axis: (self.at, 1, 1)}, self.part(f"{name}/direction"))
        return s.squeeze(one, [axis], self.part(name))

    # ---- activations

    def activation(self, function: _Function) -> Activation:
        s = self.s

        def apply(x: Any, part: str) -> Any:
            if function.kind == "affine":
                scaled = s.elementwise("PROD", x, s.scalar(function.alpha or 0.0, x), self.part(f"{part}/scale"))
                return s.elementwise("SUM", scaled, s.scalar(function.beta or 0.0, x), self.part(part))
            known: dict[str, float] = {"alpha": 1.0, "beta": 1.0} if function.kind == "SOFTPLUS" else {}
            if function.alpha is not None:
                known["alpha"] = float(function.alpha)
            if function.beta is not None:
                known["beta"] = float(function.beta)
            return s.activation(function.kind, x, self.part(part), **known)

        return apply

    def clipped(self, x: Any, part: str) -> Any:
        """What goes into an activation, within -clip and clip."""
        if not self.clip:
            return x
        low = self.s.elementwise("MAX", x, self.s.scalar(-self.clip, x), self.part(f"{part}/low"))
        return self.s.elementwise("MIN", low, self.s.scalar(self.clip, x), self.part(f"{part}/high"))

    def gate(self, f: Activation, x: Any, part: str) -> Any:
        return f(self.clipped(x, part), part)

    def sum(self, a: Any, b: Any | None, part: str) -> Any:
        return a if b is None else self.s.elementwise("SUM", a, b, self.part(part))

    def product(self, a: Any, b: Any, part: str) -> Any:
        return self.s.elementwise("PROD", a, b, self.part(part))

    # ---- the whole direction

    def emit(self) -> tuple[Any, Any, Any]:
        """Y [seq, batch, hidden], the last h and the last c [batch, hidden] (c: LSTM only)."""
        s = self.s
        w = self.weight(1, "w")
        w = s.unsqueeze(w, [0], self.part("w/rank"))
        products = s.matmul(self.x, w, self.part("products"), trans_b=True)
        bias, kept = self.biases()
        if bias is not None:
            bias = s.unsqueeze(bias, [0], self.part("bias/rank"))
            products = s.elementwise("SUM", products, bias, self.part("products_and_bias"))
        step = self.step(kept)
        states = [self.initial(5, "initial_h")]
        if self.op == "LSTM":
            states.append(self.initial(6, "initial_c"))
        mask = self.mask()
        made = self.single(products, states, mask, step) if self.x.shape[0] == 1 else None
        y, *last = made or self.loop(products, states, mask, step)
        return (y, last[0], last[1] if len(last) > 1 else None)

    def mask(self) -> Any | None:
        """Which steps of which sequence count: bool [seq, batch, 1]."""
        s, value = self.s, input_at(self.node, 4)
        if value is None:
            return None
        lengths = s.reshape(s.cast(s.tensor(value), "INT32"), [1, self.batch, 1], self.part("lengths"))
        times = s.linspace(s.sizes(self.x)[0], 0, 1, "INT32", self.part("times"))
        times = s.unsqueeze(times, [1, 2], self.part("times/rank"))
        return s.elementwise("LESS", times, lengths, self.part("counts"))

    def single(self, products: Any, states: list[Any], mask: Any | None, step: Step) -> list[Any]:
        """One step: Y is the new h."""
        s = self.s
        x = s.reshape(products, [self.batch, self.gates * self.hidden], self.part("step"))
        m = None if mask is None else s.reshape(mask, [self.batch, 1], self.part("step/counts"))
        new, y = self.masked(states, step(x, states), m)
        return [s.unsqueeze(y, [0], self.part("y")), *new]

    def masked(self, old: Sequence[Any], new: Sequence[Any], mask: Any | None) -> tuple[list[Any], Any]:
        """States and output of a step: past the end of a sequence its state stays, and its output is 0."""
        if mask is None:
            return list(new), new[0]
        s = self.s
        names = ("h", "c")
        held = [s.select(mask, b, a, self.part(f"{name}/held")) for a, b, name in zip(old, new, names, strict=False)]
        return held, s.select(mask, new[0], s.scalar(0, new[0]), self.part("h/output"))

    def loop(self, products: Any, states: list[Any], mask: Any | None, step: Step) -> list[Any]:
        s, trt = self.s, self.s.trt
        loop = s.net.add_loop()
        if isinstance(size := s.sizes(self.x)[0], int):
            trips = s.constant(np.asarray(size, np.int32), "INT32", self.part("steps"), ())
        else:
            trips = s.cast(s.reshape(size, [], self.part("steps")), "INT32", self.part("steps/cast"))
        s.layer(loop.add_trip_limit(trips, trt.TripLimit.COUNT), self.part("trips"))
        x = s.add(loop.add_iterator(products, 0, self.backwards), self.part("step"))
        m = None
        if mask is not None:
            m = s.add(loop.add_iterator(mask, 0, self.backwards), self.part("step/counts"))
        names = ("h", "c")
        layers = [
            s.layer(loop.add_recurrence(state), self.part(name)) for state, name in zip(states, names, strict=False)
        ]
        old = [layer.get_output(0) for layer in layers]
        new, y = self.masked(old, step(x, old), m)
        for layer, tensor in zip(layers, new, strict=True):
            layer.set_input(1, tensor)
        kind = trt.LoopOutput.REVERSE if self.backwards else trt.LoopOutput.CONCATENATE
        return [
            s.add(loop.add_loop_output(y, kind, 0), self.part("y"), {1: trips}) if used(self.node, 0) else None,
            *(
                s.add(loop.add_loop_output(tensor, trt.LoopOutput.LAST_VALUE, 0), self.part(f"{name}/last"))
                if used(self.node, at + 1)
                else None
                for at, (tensor, name) in enumerate(zip(old, names, strict=False))
            ),
        ]

    # ---- one step: the part of x [batch, gates * hidden] and the states, to the new states

    def step(self, kept_bias: Any | None) -> Step:
        r = self.weight(2, "r")
        if self.op == "LSTM":
            return self.lstm(r)
        if self.op == "GRU":
            return self.gru(r, kept_bias)
        return lambda x, states: [
            self.gate(self.functions[0], self.sum(x, self.by(states[0], r, "state"), "sum"), "new_h")
        ]

    def by(self, state: Any, r: Any, part: str) -> Any:
        """state [batch, hidden] times the transpose of r [n, hidden]."""
        return self.s.matmul(state, r, self.part(part), trans_b=True)

    def lstm(self, r: Any) -> Step:
        """Rows of W, R and B: i, o, f, c; of P: i, o, f."""
        s, (f, g, h) = self.s, self.functions
        p = self.weight(7, "p")
        if p is not None:
            p = s.unsqueeze(p, [0], self.part("p/rank"))
            p = [self.columns(p, at, 1, f"p_{name}") for at, name in enumerate("iof")]

        def peep(x: Any, at: int, c: Any, part: str) -> Any:
            return x if p is None else self.sum(x, self.product(p[at], c, f"{part}/peephole"), f"{part}/sum")

        def step(x: Any, states: Sequence[Any]) -> list[Any]:
            old_h, old_c = states
            gates = self.sum(x, self.by(old_h, r, "state"), "gates")
            i, o, forget, cell = (self.columns(gates, at, 1, name) for at, name in enumerate(("i", "o", "f", "c_in")))
            i = self.gate(f, peep(i, 0, old_c, "input"), "input_gate")
            if attr(self.node, "input_forget", 0):
                forget = s.elementwise("SUB", s.scalar(1, i), i, self.part("forget_gate"))
            else:
                forget = self.gate(f, peep(forget, 2, old_c, "forget"), "forget_gate")
            cell = self.gate(g, cell, "cell")
            c = self.sum(self.product(forget, old_c, "kept"), self.product(i, cell, "added"), "new_c")
            o = self.gate(f, peep(o, 1, c, "output"), "output_gate")
            return [self.product(o, h(c, "squashed"), "new_h"), c]

        return step

    def gru(self, r: Any, kept_bias: Any | None) -> Step:
        """Rows of W, R and B: z, r, h. h = (1 - z) * g(x + …) + z * h."""
        s, (f, g) = self.s, self.functions

        def rows(first: int, count: int, part: str) -> Any:
            return s.slice(
                r, {0: (first * self.hidden, count * self.hidden, 1), 1: (0, self.hidden, 1)}, self.part(part)
            )

        of_gates = None if self.linear_before_reset else (rows(0, 2, "r_gates"), rows(2, 1, "r_state"))

        def step(x: Any, states: Sequence[Any]) -> list[Any]:
            old = states[0]
            if of_gates is None:
                products = self.by(old, r, "state")
                first, inner = self.columns(products, 0, 2, "state_gates"), self.columns(products, 2, 1, "state_h")
            else:
                first, inner = self.by(old, of_gates[0], "state_gates"), None
            gates = self.sum(self.columns(x, 0, 2, "x_gates"), first, "gates")
            z = self.gate(f, self.columns(gates, 0, 1, "z"), "update_gate")
            reset = self.gate(f, self.columns(gates, 1, 1, "r_in"), "reset_gate")
            if of_gates is None:
                inner = self.product(reset, self.sum(inner, kept_bias, "state_h/bias"), "reset")
            else:
                inner = self.by(self.product(reset, old, "reset"), of_gates[1], "state_h")
            new = self.gate(g, self.sum(self.columns(x, 2, 1, "x_h"), inner, "sum"), "candidate")
            rest = s.elementwise("SUB", s.scalar(1, z), z, self.part("rest"))
            return [self.sum(self.product(rest, new, "added"), self.product(z, old, "kept"), "new_h")]

        return step
