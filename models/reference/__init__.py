"""The executable specification of Runnel's encoder: a streaming Conformer-CTC in PyTorch.

The C++ encoder is tested against these modules; archives are TorchScript exports of them.
"""
