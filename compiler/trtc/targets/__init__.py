"""TensorRT generations as data: which module to import, which layers, types and flags exist.

The tables (`TARGETS`, `BUILDER_FIELDS`) import nothing. `load` imports a TensorRT; `probe` asks child processes.
"""

from trtc.targets.capabilities import Capabilities
from trtc.targets.fields import BUILDER_FIELDS, TARGETS, Field, Option, TargetInfo, builder_fields
from trtc.targets.plugins import PluginCode, has_plugins
from trtc.targets.target import Target, TargetStatus, choose, has_gpu, load, probe, require_installed, status

__all__ = [
    "BUILDER_FIELDS",
    "TARGETS",
    "Capabilities",
    "Field",
    "Option",
    "PluginCode",
    "Target",
    "TargetInfo",
    "TargetStatus",
    "builder_fields",
    "choose",
    "has_gpu",
    "has_plugins",
    "load",
    "probe",
    "require_installed",
    "status",
]
