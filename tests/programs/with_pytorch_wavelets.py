"""Wavelet transforms of images by Functions with backwards of their own, there and back."""

from beginnings import normal, report
from pytorch_wavelets import DTCWTForward, DTCWTInverse, DWTForward, DWTInverse, ScatLayer

image = normal(1, 2, 16, 16).requires_grad_()
low, high = DWTForward(J=2, mode="zero", wave="db2")(image)
back = DWTInverse(mode="zero", wave="db2")((low, high))
(low.pow(2).sum() + back.pow(3).sum()).backward()
real = image.grad.clone()
image.grad = None
dual_low, dual_high = DTCWTForward(J=2)(image)
dual_back = DTCWTInverse()((dual_low, dual_high))
(dual_back.pow(2).sum() + sum(each.pow(2).sum() for each in dual_high)).backward()
scattered = ScatLayer()(image.detach())
report(
    low=low,
    high=[each.abs().sum() for each in high],
    back=back[0, 0, ::5, ::5],
    real=real[0, 0, ::5, ::5],
    dual=[dual_low[0, 0, ::4, ::4], dual_high[1][0, 0]],
    dual_gradient=image.grad[0, 0, ::5, ::5],
    scattered=scattered[0, :, ::4, ::4],
)
