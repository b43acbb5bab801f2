"""What a pass is, its typed options, the registry, the runner, and the instruments that hang on it. Knows no pass.

Importing this room imports neither onnx nor numpy: the checker of the language asks it for signatures.
"""

from trtc.pipeline.options import Bytes, OptionInfo, options_of
from trtc.pipeline.passes import Context, Pass, PassResult
from trtc.pipeline.registry import Registry

__all__ = ["Bytes", "Context", "OptionInfo", "Pass", "PassResult", "Registry", "options_of"]
