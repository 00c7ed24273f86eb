"""The executable specification of Runnel's models in PyTorch: streaming encoder and heads.

The C++ code is tested against these modules; model files contain TorchScript exports of them.
"""
