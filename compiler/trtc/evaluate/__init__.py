"""One interface, with budgets, over ONNX Runtime (its optimizations off) and the reference of the onnx package.

Folding, refutation and verification all compute through this room.
"""

from trtc.evaluate.evaluator import Evaluator, NotEvaluated
from trtc.evaluate.session import run_session, session

__all__ = ["Evaluator", "NotEvaluated", "run_session", "session"]
