"""The versions that a model says it is written for, against those that are installed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import onnx

if TYPE_CHECKING:
    from trtc.ir.structure import Report


def default_domain(domain: str) -> str:
    """The domain of the standard operators is spelled in two ways; here it is the empty one."""
    return "" if domain == "ai.onnx" else domain


def imports(opsets: Iterable[onnx.OperatorSetIdProto]) -> Iterator[tuple[str, int]]:
    for entry in opsets:
        yield default_domain(entry.domain), entry.version


def of_model(proto: onnx.ModelProto) -> dict[str, int]:
    """Version by domain. Before IR version 3 models did not say, and there was only opset 1."""
    return dict(imports(proto.opset_import)) or {"": 1}


def check(proto: onnx.ModelProto, report: Report) -> None:
    """T0405 (newer than supported, or no version at all) and T0406 (opset_import missing or contradictory)."""
    newest = int(onnx.IR_VERSION)
    if not proto.HasField("ir_version") or proto.ir_version < 1:
        report.add("T0405", f"ir_version {proto.ir_version} is no version of ONNX (1 to {newest})")
    elif proto.ir_version > newest:
        report.add(
            "T0405",
            f"ir_version {proto.ir_version} is newer than supported (max {newest})",
            None,
            f"install an onnx newer than {onnx.__version__}, or export the model for an older version",
        )
    if not proto.opset_import and proto.ir_version >= 3:
        report.add(
            "T0406",
            "opset_import is missing: since ir_version 3 a model says which operator sets it uses, and this one has "
            f"ir_version {proto.ir_version}",
            None,
            "export the model again, or set it: model.opset_import.add(domain='', version=...)",
        )
    _opsets("the model", imports(proto.opset_import), report)
    for function in proto.functions:
        _opsets(f"function `{function.name}`", imports(function.opset_import), report)


def _opsets(owner: str, opsets: Iterable[tuple[str, int]], report: Report) -> None:
    newest = onnx.defs.onnx_opset_version()
    seen: dict[str, int] = {}
    for domain, version in opsets:
        if seen.setdefault(domain, version) != version:
            message = f"{owner} imports domain `{domain or 'ai.onnx'}` in two versions, {seen[domain]} and {version}"
            report.add("T0406", message)
        if domain:
            continue
        if version > newest:
            report.add(
                "T0405",
                f"{owner} uses opset {version}, newer than supported (max {newest})",
                None,
                f"install an onnx newer than {onnx.__version__}, or export the model for an older opset",
            )
        elif version < 1:
            report.add("T0405", f"{owner} uses opset {version}, which is no version of ai.onnx (1 to {newest})")
