"""Marks of tests that need a part which a build or a machine may lack.

Files of which every test needs such a part are left out by CMake instead.
"""

import importlib.util
import os

import pytest

# Whether the build has librunnel_reference (RUNNEL_LIBTORCH): --backend=libtorch, float64,
# verify_streaming and bench_encoder --baseline. Where it is built, it must work.
HAS_REFERENCE = os.environ.get("RUNNEL_LIBTORCH") == "1"

needs_reference = pytest.mark.skipif(not HAS_REFERENCE,
                                     reason="this build has no reference (RUNNEL_LIBTORCH is off)")
needs_pytorch = pytest.mark.skipif(importlib.util.find_spec("torch") is None,
                                   reason="this Python has no PyTorch (python3-torch)")
