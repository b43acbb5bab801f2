"""The .trtspec language: text in, a resolved `Spec` or diagnostics out. Knows no other room than diagnostics."""

from trtc.lang.arguments import parse_dim_argument
from trtc.lang.check_interface import DTYPES
from trtc.lang.checker import check_text, for_model, library_declarations, library_rules, load, loads, read_text
from trtc.lang.parser import parse
from trtc.lang.spec import (
    Apply,
    Arithmetic,
    Checkpoint,
    Condition,
    Count,
    Expect,
    Fixpoint,
    PassCall,
    Profile,
    Random,
    RuleCount,
    Spec,
    Step,
    Target,
    TensorSpec,
    Term,
    Tolerance,
    Verify,
)
from trtc.lang.vocabulary import (
    BuilderField,
    Option,
    PassSignature,
    TargetSignature,
    ValueType,
    Vocabulary,
)
from trtc.lang.writer import InputDims, write_spec

__all__ = [
    "DTYPES",
    "Apply",
    "Arithmetic",
    "BuilderField",
    "Checkpoint",
    "Condition",
    "Count",
    "Expect",
    "Fixpoint",
    "InputDims",
    "Option",
    "PassCall",
    "PassSignature",
    "Profile",
    "Random",
    "RuleCount",
    "Spec",
    "Step",
    "Target",
    "TargetSignature",
    "TensorSpec",
    "Term",
    "Tolerance",
    "ValueType",
    "Verify",
    "Vocabulary",
    "check_text",
    "for_model",
    "library_declarations",
    "library_rules",
    "load",
    "loads",
    "parse",
    "parse_dim_argument",
    "read_text",
    "write_spec",
]
