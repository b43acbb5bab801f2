"""What the standard library finds in a folder of models, and the nodes that it leaves beside its peers.

    python benchmarks/fusions.py DIR [--models REGEX] [--tools NAME,NAME] [--timeout 120] [--rules] [--json OUT]

DIR holds `NAME.onnx`, each with a `NAME.json` that says how to feed it, as for `benchmarks/zoo.py`. Compared are
onnxsim, OnnxSlim, onnxscript's optimizer, the same followed by its fusions for ONNX Runtime, and ONNX Runtime's own
optimizer at the level `extended`; those that are not installed are left out by name. Each model goes through each tool
in a process of its own with a limit of time, from the smallest model to the largest.

Nodes are counted in what each tool saved: those of the graph, of its subgraphs, and of each function that is called,
as often as it is called. Constant nodes are none: they are the constants that other tools keep beside the graph. trtc's
`swish`, a function that is ONNX's Swish of opset 24, counts as that operator.

Some peers write operators that only ONNX Runtime has (`FusedConv` is a Conv and a Relu). Behind the number of nodes
stands in parentheses what it is once each of those is what it does, in ONNX's own operators. Where a peer has fewer
nodes than trtc, its row is marked, and the reason printed: its model is not valid, it does not compute what the
original does, its operators are ONNX Runtime's own, or what `KNOWN` says. A row without a reason is a task for trtc.
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

#: Reasons why a peer has fewer nodes: (peers, models, reason), the first two as regular expressions.
KNOWN: tuple[tuple[str, str, str], ...] = (
    (
        "onnxsim|OnnxSlim|ORT extended",
        r"\.light$",
        "it computes the ConstantOfShape that stand for weights here, up to gigabytes; trtc has a budget of growth",
    ),
    (
        "onnxscript.*|OnnxSlim|ORT extended",
        r"^(scripted_loop|silero_vad)\.",
        "its bodies and branches give out constants by themselves; in trtc an Identity stands there",
    ),
    (
        "onnxsim",
        r"^lstm_tagger\.",
        "it leaves out initial states that are zero; trtc passes them on as the file does",
    ),
    (
        "onnxsim|OnnxSlim",
        r"^deeplabv3_mobilenet\.",
        "it joins a Concat of sizes with the Concat that it goes into; trtc's patterns have as many inputs as they say",
    ),
)

#: Nodes of ONNX that one node of ONNX Runtime's own operators stands for, where those are more than one. An activation
#: that is an attribute counts where it is given, a bias where it is an input.
CONTRIB: Mapping[str, int] = {
    "BiasGelu": 2,
    "BiasSplitGelu": 4,
    "EmbedLayerNormalization": 6,
    "FusedConv": 1,
    "FusedGemm": 1,
    "FusedMatMul": 1,
    "SkipLayerNormalization": 2,
    "SkipSimplifiedLayerNormalization": 2,
    "SkipGroupNorm": 2,
    "GemmFastGelu": 2,
    "DynamicQuantizeMatMul": 4,
    "MatMulIntegerToFloat": 4,
    "QLinearConv": 4,
}

#: Groups of what is found, by the operators of the final graph: whether the exporter wrote them or trtc found them.
OPERATORS: Mapping[str, tuple[str, ...]] = {
    "gelu": ("Gelu",),
    "layer norm": ("LayerNormalization",),
    "rms norm": ("RMSNormalization",),
    "group norm": ("GroupNormalization",),
    "instance norm": ("InstanceNormalization",),
    "attention": ("Attention",),
    "rope": ("RotaryEmbedding",),
    "hardswish": ("HardSwish",),
    "mish": ("Mish",),
    "prelu": ("PRelu",),
}

#: Groups by the rules and passes that were applied.
RULES: Mapping[str, str] = {
    "merged projections": r"merge_projections|merge_gemm_\w+",
    "merged convs": r"merge_conv\w*",
    "conv+bn": r"batch_norm_\w+|fold_batch_norm",
    "conv+affine": r"(scale|shift|difference)_(after|before)_conv\w*",
    "pad": r"pad_\w+|fold_pad",
    "linear": r"gemm_\w+|scales?_into_(linear|product)|join_(biases|products|linears)|\w+_between_views\w*|einsum_\w+",
}


# ---- in the child: each tool reads a model and saves what it makes of it


def trtc(model: Path, output: Path) -> dict[str, Any]:
    from trtc import ir, lang
    from trtc.driver.front import run_pipeline
    from trtc.driver.library import vocabulary
    from trtc.ir.infer import infer_all

    steps = lang.for_model(model, vocabulary()).pipeline
    begin = time.perf_counter()
    module = ir.load(model)
    infer_all(module)
    outcome = run_pipeline(module, steps)
    seconds = time.perf_counter() - begin
    ir.save(module, output)
    folded = Counter(
        {r.name: sum(r.counts.values()) for r in outcome.records if r.name.startswith("fold_") and r.counts}
    )
    folded.pop("fold_constants", None)
    kinds = Counter(node.op_type for node in module.nodes())
    gated = [n for n in module.nodes() if n.op_type.lower() == "swish" or (n.op_type == "Mul" and _is_silu(n))]
    return {
        "seconds": seconds,
        "applied": {rule: count for rule, count in (outcome.applied + folded).items() if count},
        "operators": {**kinds, "silu": len(gated)},
    }


def _is_silu(node: Any) -> bool:
    """x * Sigmoid(x), also with a factor inside."""
    for x, gate in (tuple(node.inputs), tuple(node.inputs)[::-1]):
        made = gate.producer() if gate is not None else None
        if made is not None and made.op_type == "Sigmoid":
            inner = made.inputs[0]
            scaled = inner.producer()
            if inner is x or (scaled is not None and scaled.op_type == "Mul" and x in scaled.inputs):
                return True
    return False


def onnxsim(model: Path, output: Path) -> dict[str, Any]:
    import onnx
    import onnxsim as sim

    begin = time.perf_counter()
    made, _ = sim.simplify(str(model))
    seconds = time.perf_counter() - begin
    onnx.save(made, output, save_as_external_data=made.ByteSize() > 1 << 30)
    return {"seconds": seconds}


def onnxslim(model: Path, output: Path) -> dict[str, Any]:
    import onnxslim as slim

    begin = time.perf_counter()
    slim.slim(str(model), str(output))
    return {"seconds": time.perf_counter() - begin}


def onnxscript(model: Path, output: Path) -> dict[str, Any]:
    return _onnxscript(model, output, lambda _loaded: None)


def onnxscript_ort(model: Path, output: Path) -> dict[str, Any]:
    from onnxscript.rewriter.ort_fusions import optimize_for_ort

    return _onnxscript(model, output, optimize_for_ort)


def _onnxscript(model: Path, output: Path, fuse: Callable[[Any], object]) -> dict[str, Any]:
    import onnx_ir
    import onnxscript.optimizer as optimizer

    begin = time.perf_counter()
    loaded = onnx_ir.load(model)
    optimizer.optimize(loaded)
    fuse(loaded)
    seconds = time.perf_counter() - begin
    onnx_ir.save(loaded, output)
    return {"seconds": seconds}


def ort_extended(model: Path, output: Path) -> dict[str, Any]:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(output)
    begin = time.perf_counter()
    ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return {"seconds": time.perf_counter() - begin}


TOOLS: Mapping[str, Callable[[Path, Path], dict[str, Any]]] = {
    "trtc": trtc,
    "onnxsim": onnxsim,
    "OnnxSlim": onnxslim,
    "onnxscript": onnxscript,
    "onnxscript+ORT": onnxscript_ort,
    "ORT extended": ort_extended,
}
_MODULES = {"OnnxSlim": "onnxslim", "onnxscript+ORT": "onnxscript", "ORT extended": "onnxruntime"}


def counted(path: Path) -> dict[str, Any]:
    """Nodes of a model, the same with ONNX Runtime's own operators spelled out, and how many nodes are of those."""
    import onnx

    model = onnx.load(path, load_external_data=False)
    functions = {(f.domain, f.name, f.overload): f for f in model.functions}
    found: Counter[str] = Counter()

    def nodes(of: Sequence[Any], open_: frozenset[Any]) -> Iterator[Any]:
        for node in of:
            key = (node.domain, node.op_type, node.overload)
            if key in functions and key not in open_ and not key[0].startswith("trtc."):
                yield from nodes(functions[key].node, open_ | {key})
                continue
            yield node
            for attribute in node.attribute:
                for graph in (*([attribute.g] if attribute.HasField("g") else ()), *attribute.graphs):
                    yield from nodes(graph.node, open_)

    plain = spelled = 0
    for node in nodes(model.graph.node, frozenset()):
        if node.op_type == "Constant" and node.domain in ("", "ai.onnx"):
            continue
        plain += 1
        spelled += _spelled(node)
        if node.domain not in ("", "ai.onnx", "ai.onnx.ml") and not node.domain.startswith("trtc."):
            found[f"{node.domain}.{node.op_type}"] += 1
    return {"nodes": plain, "spelled": spelled, "own": dict(found)}


def _spelled(node: Any) -> int:
    """Nodes of ONNX that a node stands for."""
    kind, given = node.op_type, [bool(name) for name in node.input]
    attributes = {a.name: a for a in node.attribute}
    if kind in ("swish", "QuickGelu"):
        default = 1.0 if kind == "swish" else 1.702
        return 2 + ((attributes["alpha"].f if "alpha" in attributes else default) != 1.0)
    if node.domain not in ("com.microsoft", "com.microsoft.nchwc"):
        return 1
    nodes = CONTRIB.get(kind, 1)
    if kind in ("FusedConv", "FusedGemm"):
        nodes += "activation" in attributes
        nodes += kind == "FusedConv" and len(given) > 3  # a sum with something else
    elif kind in ("SkipLayerNormalization", "SkipSimplifiedLayerNormalization"):
        nodes += len(given) > (4 if kind == "SkipLayerNormalization" else 3)  # a bias
    elif kind == "FastGelu":
        nodes += len(given) > 1
    elif kind == "FusedMatMul":
        alpha = attributes["alpha"].f if "alpha" in attributes else 1.0
        nodes += (alpha != 1.0) + sum(bool(a.i) for n, a in attributes.items() if n.startswith("trans"))
    elif kind == "MultiHeadAttention":
        nodes += 3 * (len(given) > 3 and given[3])  # biases of query, key and value
    elif kind == "Attention":
        nodes += 3  # the projection, its bias and its Split
    return nodes


def child(tool: str, model: Path, output: Path) -> dict[str, Any]:
    found = TOOLS[tool](model, output)
    return {**found, **counted(output)}


def difference(original: Path, made: Path) -> str:
    """What is wrong with a peer's model beside the original, on the data of the model's card; "" if nothing."""
    import numpy as np
    import onnxruntime as ort

    from zoo import arrays

    card = json.loads(original.with_suffix(".json").read_text(encoding="utf-8"))
    feeds = arrays(card)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    results: list[dict[str, Any]] = []
    for path in (original, made):
        try:
            session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
            names = [o.name for o in session.get_outputs()]
            known = {i.name for i in session.get_inputs()}
            results.append(
                dict(zip(names, session.run(None, {k: v for k, v in feeds.items() if k in known}), strict=True))
            )
        except Exception as error:
            if path is original:
                return ""
            return f"ONNX Runtime does not run it: {' '.join(str(error).split())[:160]}"
    for name, first in results[0].items():
        second = results[1].get(name)
        if second is None:
            return f"it has no output `{name}`"
        if np.shape(first) != np.shape(second):
            return f"`{name}` has the shape {np.shape(second)}, not {np.shape(first)}"
        if first.dtype.kind == "f" and first.size:
            scale = float(np.max(np.abs(np.nan_to_num(first.astype(np.float64))), initial=0.0)) or 1.0
            off = float(np.max(np.abs(np.nan_to_num(first.astype(np.float64) - second.astype(np.float64)))))
            limit = 1e-3 if first.dtype == np.float32 else 2e-2
            if off > limit * scale:
                return f"`{name}` is off by {off / scale:.1e} of its scale"
    return ""


# ---- in the parent


def installed(tool: str) -> bool:
    from importlib.util import find_spec

    return find_spec(_MODULES.get(tool, tool)) is not None


def run(arguments: Sequence[str], timeout: float) -> dict[str, Any] | str:
    """What a process of its own found, or why it found nothing."""
    command = [sys.executable, __file__, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return f"over {timeout:.0f} s"
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        return (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1][:160]
    return json.loads(lines[-1])


def groups(found: Mapping[str, Any]) -> dict[str, int]:
    """What trtc found, by group."""
    operators, applied = found["operators"], found["applied"]
    made = {group: sum(operators.get(kind, 0) for kind in kinds) for group, kinds in OPERATORS.items()}
    made["silu"] = operators.get("silu", 0)
    for group, rules in RULES.items():
        made[group] = sum(count for rule, count in applied.items() if re.fullmatch(rules, rule))
    return {group: count for group, count in made.items() if count}


def reason(model: Path, tool: str, found: Mapping[str, Any], ours: int, output: Path, timeout: float) -> str:
    """Why a peer has fewer nodes than trtc; "" where that is not known."""
    wrong = run(["--differ", str(model), str(output)], timeout)
    if isinstance(wrong, dict) and wrong["difference"]:
        return wrong["difference"]
    said = [why for tools, models, why in KNOWN if re.fullmatch(tools, tool) and re.search(models, model.stem)]
    own = ", ".join(f"{count} {kind.rpartition('.')[2]}" for kind, count in Counter(found["own"]).most_common(4))
    if own and found["spelled"] >= ours:
        return f"with operators that only ONNX Runtime has: {own}; {found['spelled']} nodes in those of ONNX"
    if own:
        said.append(f"it has operators that only ONNX Runtime has: {own}")
    return "; ".join(said)


def one_model(model: Path, tools: Sequence[str], timeout: float) -> dict[str, Any]:
    """Every tool on one model."""
    row: dict[str, Any] = {"tools": {}, "reasons": {}}
    with tempfile.TemporaryDirectory(prefix="trtc-fusions-") as name:
        outputs = {tool: Path(name) / f"{at}" / "model.onnx" for at, tool in enumerate(tools)}
        for tool, output in outputs.items():
            output.parent.mkdir()
            row["tools"][tool] = run([str(model), "--child", tool, "--output", str(output)], timeout)
        ours = row["tools"].get("trtc")
        if isinstance(ours, dict):
            row["found"] = groups(ours)
            for tool, found in row["tools"].items():
                if isinstance(found, dict) and found["nodes"] < ours["nodes"]:
                    row["reasons"][tool] = reason(model, tool, found, ours["nodes"], outputs[tool], timeout)
    return row


def cell(found: dict[str, Any] | str | None, fewer: bool) -> str:
    if not isinstance(found, dict):
        return "-" if found is None else "failed"
    text = str(found["nodes"])
    if found["spelled"] != found["nodes"]:
        text += f" ({found['spelled']})"
    return text + ("*" if fewer else "")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", type=Path, metavar="DIR")
    options.add_argument("extra", type=Path, nargs="?", help=argparse.SUPPRESS)
    options.add_argument("--models", metavar="REGEX", help="only the models whose name matches")
    options.add_argument("--tools", help=f"only these, separated by commas: {', '.join(TOOLS)}")
    options.add_argument("--timeout", type=float, default=120, help="seconds for one tool on one model")
    options.add_argument("--rules", action="store_true", help="print every rule that was applied, too")
    options.add_argument("--json", type=Path, metavar="OUT", help="write everything that was found")
    options.add_argument("--child", choices=list(TOOLS), help=argparse.SUPPRESS)
    options.add_argument("--output", type=Path, help=argparse.SUPPRESS)
    options.add_argument("--differ", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.differ:
        print(json.dumps({"difference": difference(given.folder, given.extra)}))
        return 0
    if given.child:
        print(json.dumps(child(given.child, given.folder, given.output)))
        return 0
    wanted = given.tools.split(",") if given.tools else list(TOOLS)
    for tool in wanted:
        if tool not in TOOLS:
            options.error(f"unknown tool `{tool}`: {', '.join(TOOLS)}")
    tools = [tool for tool in wanted if installed(tool)]
    missing = [tool for tool in wanted if tool not in tools]
    if missing:
        print(f"not installed, left out: {', '.join(missing)}")
    models = [p for p in given.folder.glob("*.onnx") if p.with_suffix(".json").is_file()]
    if given.models:
        models = [p for p in models if re.search(given.models, p.stem)]
    print(f"{'model':<30} " + " ".join(f"{tool:>16}" for tool in tools))
    rows: dict[str, Any] = {}
    open_rows: list[str] = []
    for model in sorted(models, key=lambda p: (p.stat().st_size, p.name)):
        row = rows[model.stem] = one_model(model, tools, given.timeout)
        cells = [cell(row["tools"].get(tool), tool in row["reasons"]) for tool in tools]
        print(f"{model.stem:<30} " + " ".join(f"{text:>16}" for text in cells))
        if "found" in row:
            print(f"    found: {', '.join(f'{count} {group}' for group, count in row['found'].items()) or 'nothing'}")
            if given.rules:
                print(f"    rules: {', '.join(f'{r} {n}' for r, n in row['tools']['trtc']['applied'].items())}")
        for tool, found in row["tools"].items():
            if isinstance(found, str):
                print(f"    {tool}: {found}")
        for tool, why in row["reasons"].items():
            print(f"    * {tool}: {why or 'no reason is known'}")
            if not why:
                open_rows.append(f"{model.stem} ({tool})")
        sys.stdout.flush()
        if given.json:
            given.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    print(f"{len(rows)} models; fewer nodes without a reason: {', '.join(open_rows) or 'none'}")
    return 1 if open_rows else 0


if __name__ == "__main__":
    sys.exit(main())
