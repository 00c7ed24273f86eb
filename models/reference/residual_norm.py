"""The layer norm of a residual block: before its module, or after the sum."""

from torch import Tensor, nn


class NoNorm(nn.Module):
    """In the place of a ResidualNorm, of a module without one."""

    def before(self, x: Tensor) -> Tensor:
        """x."""
        return x

    def after(self, x: Tensor) -> Tensor:
        """x."""
        return x

    def forward(self, x: Tensor) -> Tensor:
        """x."""
        return x


class ResidualNorm(nn.LayerNorm):
    """x + f(before(x)), then after(sum); one of the two is the identity."""

    def __init__(self, dim: int, eps: float, norm_first: bool) -> None:
        super().__init__(dim, eps)
        self.norm_first = norm_first

    def before(self, x: Tensor) -> Tensor:
        """The norm of the module's input."""
        return self.forward(x) if self.norm_first else x

    def after(self, x: Tensor) -> Tensor:
        """The norm of the sum."""
        return x if self.norm_first else self.forward(x)
