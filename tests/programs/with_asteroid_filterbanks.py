"""asteroid-filterbanks: encoders and decoders of sound, which ask whether they are traced."""

from asteroid_filterbanks import Encoder, ParamSincFB, make_enc_dec, transforms
from beginnings import filled, normal, report

x = normal(2, 1, 128).requires_grad_()
encoder, decoder = make_enc_dec("stft", n_filters=16, kernel_size=16, stride=8)
found = encoder(x)
again = decoder(found)
again.pow(2).sum().backward()
free = [filled(each) for each in make_enc_dec("free", n_filters=8, kernel_size=8)]
report(
    found=found,
    again=again,
    gradient=x.grad,
    magnitude=transforms.mag(found),
    free=free[1](free[0](x)),
    sinc=Encoder(ParamSincFB(8, 15, sample_rate=16000))(x),
)
