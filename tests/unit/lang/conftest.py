"""One small vocabulary for the tests of the language."""

from __future__ import annotations

import pytest

from trtc.ir.schemas import schemas
from trtc.lang import BuilderField, Option, PassSignature, TargetSignature, Vocabulary

STANDARD = '''trtspec 1

"""What runs where a spec has no pipeline."""
pipeline standard(max_growth = 16MiB) {
  fold_constants(max_growth = max_growth)
  fixpoint(limit = 8) { cse()  dce() }
}
'''

NORM = """trtspec 1

pattern rms(x: float[..., H], gamma: const float[H]) -> (y, $eps) {
  y = x / Sqrt(ReduceMean(x * x, axes = [-1], keepdims = 1) + $eps) * gamma
}

rewrite fuse_rms {
  match (y, $eps) = rms(x, gamma)
  replace y with RMSNormalization(x, gamma, axis = -1, epsilon = $eps)
  test { x: f32[2, 8]  gamma: f32[8] }
}

rewrite drop_scale {
  match y = x * 1.0
  replace y with Identity(x)
}
"""

PASSES = (
    PassSignature(
        "fold_constants",
        (
            Option("max_growth", "bytes", 16 << 20, "bytes added at most"),
            Option("mode", "ident", "safe", "how", ("safe", "all")),
            Option("deep", "bool", False, "also inside bodies"),
            Option("tolerance", "float", 0.0, "", (), 0.0, 1.0),
            Option("keep", "strings", (), "operators to leave alone"),
        ),
    ),
    PassSignature("cse"),
    PassSignature("dce"),
    PassSignature("fuse_gelu"),
)
BUILDER = (
    BuilderField("workspace", "bytes", min=0),
    BuilderField("optimization_level", "int", min=0, max=5),
    BuilderField("strongly_typed", "bool"),
    BuilderField("tiling", "ident", ("none", "fast", "full")),
    BuilderField("name", "string"),
    BuilderField("sources", "idents", ("cublas", "cudnn")),
)
TARGETS = (
    TargetSignature("tensorrt_rtx", (Option("compute", "floats", (), "compute capabilities"),)),
    TargetSignature("tensorrt"),
)


@pytest.fixture(scope="session")
def vocabulary() -> Vocabulary:
    return Vocabulary(
        passes={p.name: p for p in PASSES},
        targets={t.name: t for t in TARGETS},
        builder={f.name: f for f in BUILDER},
        operators=frozenset({"Conv", "BatchNormalization", "Gelu", "Erf", "MatMul", "LayerNormalization"}),
        libraries={
            "std.standard": ("std/standard.trtspec", STANDARD),
            "std.norm": ("std/norm.trtspec", NORM),
            "acme.norm": ("acme/norm.trtspec", NORM),
        },
        schemas=schemas(),
        functions={
            "rank": (1, 1),
            "dim": (2, 2),
            "is_const": (1, 1),
            "default": (2, 2),
            "present": (1, 1),
            "max": (0, None),
        },
        not_built=frozenset({"builder.calibrator", "use.std.later", "target.tensorrt_llm", "rung.layers"}),
    )
