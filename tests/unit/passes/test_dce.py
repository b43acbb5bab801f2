"""dce: what nothing uses goes, what callers see stays."""

from __future__ import annotations

from pass_harness import assert_same, check, listing, load, messages, model, run

from trtc_passes import Dce


def test_removes_dead_branches_and_initializers_but_keeps_inputs() -> None:
    text = """g (float[N,3] x, float[2] nobody) => (float[N,3] y)
    <float[3] w = {1, 2, 3}, float[3] unused = {4, 5, 6}>
    { a = Exp(x)  b = Add(a, w)  c = Neg(b)  y = Relu(x) }"""
    module, context = check(text, Dce(), ["y = Relu(x)"], shapes=({"N": 1}, {"N": 4}))
    assert [value.name for value in module.graph.inputs] == ["x", "nobody"]
    assert not module.graph.initializers
    assert ("removed 3 unused nodes") in [text for _, text in messages(context, "applied")]


def test_optional_outputs_at_the_end_are_trimmed_and_counts_that_mean_something_stay() -> None:
    text = """g (float[2,2,4,4] x) => (float[2,2,3,3] y, float[1,2,4,4] first)
    {
        y, indices = MaxPool <kernel_shape = [2, 2]> (x)
        first, second = Split <axis = 0, num_outputs = 2> (x)
    }"""
    check(
        text,
        Dce(),
        ["y = MaxPool(x)[pads=[0, 0, 0, 0]]", "first, second = Split(x)[num_outputs=2]"],
    )


def test_an_if_loses_outputs_in_both_branches() -> None:
    text = """g (float[3] x, bool c) => (float[3] y)
    {
        unused, y = If (c) <
            then_branch = t () => (float[3] ta, float[3] tb) { ta = Exp(x) tb = Relu(x) },
            else_branch = e () => (float[3] ea, float[3] eb) { ea = Neg(x) h = Abs(x) eb = Neg(h) }
        >
    }"""
    module, _ = check(
        text,
        Dce(),
        [
            "y = If(c)",
            "  else_branch -> eb",
            "    h = Abs(x)",
            "    eb = Neg(h)",
            "  then_branch -> tb",
            "    tb = Relu(x)",
        ],
    )
    assert len(next(iter(module.graph)).outputs) == 1


def test_what_only_a_dead_subgraph_captured_goes_too() -> None:
    text = """g (float[3] x, bool c) => (float[3] y)
    {
        captured = Exp(x)
        dead = If (c) <
            then_branch = t () => (float[3] a) { a = Neg(captured) },
            else_branch = e () => (float[3] b) { b = Abs(captured) }
        >
        y = Relu(x)
    }"""
    check(text, Dce(), ["y = Relu(x)"])


def test_unused_functions_and_their_opset_imports_go() -> None:
    functions = """<domain: "mine", opset_import: ["" : 23, "mine" : 1]> Used (x) => (y) { y = mine.Inner(x) }
    <domain: "mine", opset_import: ["" : 23]> Inner (x) => (y) { dead = Exp(x) y = Relu(x) }
    <domain: "mine", opset_import: ["" : 23]> Unused (x) => (y) { y = Neg(x) }"""
    proto = model("g (float[3] x) => (float[3] y) { y = mine.Used(x) }", functions=functions)
    module = load(proto)
    run(module, Dce())
    assert sorted(name for _, name, _ in module.model.functions) == ["Inner", "Used"]
    assert [n.op_type for n in module.model.functions["mine", "Inner", ""]] == ["Relu"]
    assert "mine" in module.model.opset_imports
    assert "com.microsoft" not in module.model.opset_imports
    assert_same(proto, module)


def test_ten_times_the_nodes_take_ten_times_the_edits() -> None:
    def removed(count: int) -> int:
        chain = "\n".join(f"v{i + 1} = Neg(v{i})" for i in range(count))
        module = load(model(f"g (float[2] v0) => (float[2] y) {{ {chain} y = Relu(v0) }}"))
        result, _ = run(module, Dce())
        assert listing(module) == ["y = Relu(v0)"]
        return result.counts["nodes"]

    assert removed(2000) == 10 * removed(200)


def test_changing_nothing_changes_nothing() -> None:
    module = load(model("g (float[3] x) => (float[3] y) { y = Relu(x) }"))
    run(module, Dce())
    before = module.graph[0]
    result, context = run(module, Dce())
    assert not result.changed
    assert module.graph[0] is before
    assert not context.remarks
