"""The schemas kept as data are those of onnx. To renew them: `python tests/unit/ir/test_schemas.py`."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

from onnx import defs, helper

from trtc.ir import OPSET
from trtc.ir.schemas import FILE, schemas

OPTION = defs.OpSchema.FormalParameterOption


def line(schema: defs.OpSchema) -> str:
    marks = {OPTION.Optional: "?", OPTION.Variadic: "*"}
    inputs = " ".join(f"{i.name}{marks.get(i.option, '')}" for i in schema.inputs)
    if schema.inputs and schema.inputs[-1].option == OPTION.Variadic and schema.min_input < len(schema.inputs):
        inputs = inputs.removesuffix("*") + "?*"
    variadic = any(o.option == OPTION.Variadic for o in schema.outputs)
    attributes = [
        f"{name}:{a.type.name.lower()}{'!' if a.required else ''}{default(a)}"
        for name, a in sorted(schema.attributes.items())
    ]
    return " ".join([f"{schema.name}({inputs})", "*" if variadic else str(len(schema.outputs)), *attributes])


def default(attribute: Any) -> str:
    if not attribute.default_value.name:
        return ""

    def plain(value: Any) -> Any:
        if isinstance(value, bytes):
            return value.decode()
        if isinstance(value, float):
            return float(f"{value:.8g}")
        return [plain(v) for v in value] if isinstance(value, (list, tuple)) else value

    return "=" + json.dumps(plain(helper.get_attribute_value(attribute.default_value)), separators=(",", ":"))


def lines() -> list[str]:
    made: list[str] = []
    for name in sorted({s.name for s in defs.get_all_schemas() if not s.domain}):
        try:
            schema = defs.get_schema(name, OPSET, "")
        except defs.SchemaError:
            schema = min(
                (s for s in defs.get_all_schemas_with_history() if s.name == name and not s.domain),
                key=lambda s: s.since_version,
            )  # newer than the opset of modules
        if not schema.deprecated:
            made.append(line(schema))
    return made


def test_they_are_those_of_onnx() -> None:
    kept = (resources.files("trtc.ir") / FILE).read_text().splitlines()
    newest = {entry.partition("(")[0]: entry for entry in kept}
    for wanted in lines():  # an older onnx knows fewer operators
        name = wanted.partition("(")[0]
        assert newest.get(name) == wanted, "renew them: python tests/unit/ir/test_schemas.py"


def test_they_can_be_read() -> None:
    conv = schemas()["Conv"]
    assert (conv.inputs, conv.optional, conv.least, conv.outputs) == (("X", "W", "B"), {"B"}, 2, 1)
    assert (conv.attributes["group"].type, conv.attributes["group"].default) == ("int", 1)
    assert conv.attributes["pads"].default is None
    assert schemas()["Gelu"].attributes["approximate"].default == "none"
    assert schemas()["Cast"].attributes["to"].required
    concat, dropout, add = schemas()["Concat"], schemas()["Dropout"], schemas()["Add"]
    assert (concat.variadic, concat.least) == (True, 1)
    assert dropout.outputs == 2
    assert (add.commutative, schemas()["Sub"].commutative) == (True, False)
    assert schemas()["Split"].outputs is None


if __name__ == "__main__":
    import trtc.ir

    Path(trtc.ir.__file__).with_name(FILE).write_text("\n".join(lines()) + "\n")
