"""The executable specification of Runnel's encoder: a streaming Conformer-CTC in PyTorch.

The C++ encoder is tested against these modules; model files contain TorchScript exports of them.
"""
