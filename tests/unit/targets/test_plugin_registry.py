"""The plugin registry: code loaded into it, creators found. TensorRT for RTX has one, though no use for it."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("tensorrt_rtx")

from trtc import targets
from trtc.diagnostics import DiagnosticError
from trtc.targets import PluginCode
from trtc.targets.plugins import creators, find, load_code

CREATOR = """
import tensorrt_rtx as trt

class Creator(trt.IPluginCreatorV3One):
    def __init__(self):
        trt.IPluginCreatorV3One.__init__(self)
        self.name, self.plugin_version, self.plugin_namespace = "ByCreator", "3", "mine"
        self.field_names = trt.PluginFieldCollection([trt.PluginField("scale")])

    def create_plugin(self, name, fields, phase):
        return None

class Twice(trt.IPluginV3):
    plugin_version = "2"

    def __init__(self, alpha, count=1):
        trt.IPluginV3.__init__(self)
"""


def load(code: PluginCode) -> targets.Target:
    target = targets.load("tensorrt_rtx")
    load_code(target.module, target.logger, code)
    return target


def test_classes_of_python_are_registered(tmp_path: Path) -> None:
    (tmp_path / "registered_plugins.py").write_text(CREATOR)
    places = ("registered_plugins:Creator", "registered_plugins:Twice")
    code = PluginCode((), places, (str(tmp_path),))
    target = load(PluginCode.from_json(code.to_json()))
    load(code)  # twice is nothing
    found = find(target.module, target.logger, "ByCreator", "3", "mine")
    assert found is not None
    assert (found.version_3, list(found.fields())) == (True, ["scale"])
    made = find(target.module, target.logger, "Twice", "2", "")
    assert made is not None
    assert list(made.fields()) == ["alpha", "count"]
    assert find(target.module, target.logger, "Twice", "1", "") is None
    names = [(c.name, c.version) for c in creators(target.module, target.logger)]
    assert ("ByCreator", "3") in names
    assert names == sorted(names)


@pytest.mark.parametrize(
    ("libraries", "classes", "message"),
    [
        (("/nowhere/libmine.so",), (), "there is no plugin library `/nowhere/libmine.so`"),
        ((__file__,), (), "cannot be loaded: "),
        ((), ("no_such_module:Thing",), "`no_such_module:Thing` cannot be loaded: ModuleNotFoundError"),
        ((), ("json:Thing",), "`json:Thing` cannot be loaded: AttributeError"),
        ((), ("json:JSONDecoder",), "`json:JSONDecoder` cannot be registered as a plugin"),
    ],
)
def test_code_that_cannot_be_loaded(libraries: tuple[str, ...], classes: tuple[str, ...], message: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        load(PluginCode(libraries, classes))
    (found,) = caught.value.diagnostics
    assert found.code == "T0710"
    assert message in found.message
