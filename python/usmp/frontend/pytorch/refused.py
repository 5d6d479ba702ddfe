"""Operators of PyTorch that are refused, each with a replacement."""

from __future__ import annotations

from usmp.frontend.refused_operators import (
    FOUND_IN_DATA,
    RANDOM,
    Refusal,
    by_operator,
    never_compared,
)

_IN_APPLICATION = "compute it in the application, with the model's outputs"
_TRAINING = Refusal("it is for training", "call eval() and export the forward pass only")
_LINEAR_ALGEBRA = Refusal(
    "it factors a matrix or solves for one, in steps that depend on the data",
    "compute it before the export if it follows from constants, or in the application",
)

REFUSED = by_operator(
    (
        "_unique2 masked_select nonzero nonzero_static repeat_interleave unique_consecutive "
        "unique_dim",
        Refusal(
            FOUND_IN_DATA,
            "use torch.where() with three arguments, or end the model before it and find them in "
            "the application",
        ),
    ),
    (
        "_local_scalar_dense",
        Refusal(
            "it makes a number of Python out of a tensor (item(), int(), an if on a tensor), which "
            "only the run knows",
            "compute with the tensor itself, and use torch.where()",
        ),
    ),
    (
        "bernoulli cauchy exponential geometric log_normal multinomial native_dropout normal "
        "normal_functional poisson rand rand_like randint randint_like randn randn_like randperm "
        "rrelu_with_noise_functional uniform",
        Refusal(
            RANDOM.reason, f"call eval() before the export if it is dropout, or {RANDOM.instead}"
        ),
    ),
    (
        "cond map_impl scan while_loop",
        Refusal(
            "it runs other graphs, and which of them or how often must be known at compile time",
            "unroll loops, and export one model for each branch",
        ),
    ),
    (
        "_native_batch_norm_legit.default _native_batch_norm_legit_functional "
        "fake_quantize_per_channel_affine_cachemask fake_quantize_per_tensor_affine_cachemask "
        "native_batch_norm",
        _TRAINING,
    ),
    (
        "_fft_c2c _fft_c2r _fft_r2c complex view_as_complex view_as_real",
        Refusal(
            "it computes with complex numbers",
            "use matmul() or conv1d() with constant cosines and sines, or compute it in the "
            "application",
        ),
    ),
    (
        "_linalg_check_errors _linalg_det _linalg_eigh _linalg_slogdet _linalg_solve_ex "
        "_linalg_svd cholesky_inverse cholesky_solve linalg_cholesky_ex linalg_eig linalg_eigvals "
        "linalg_householder_product linalg_inv_ex linalg_ldl_factor_ex linalg_lstsq linalg_lu "
        "linalg_lu_factor_ex linalg_lu_solve linalg_matrix_exp linalg_pinv linalg_qr "
        "linalg_solve_triangular triangular_solve",
        _LINEAR_ALGEBRA,
    ),
    (
        "as_strided empty_strided resize resize_",
        Refusal(
            "it takes memory by strides, and the plan decides where tensors lie",
            "use reshape(), permute(), slices or F.unfold()",
        ),
    ),
    (
        "_to_dense _to_sparse to_sparse",
        Refusal("it computes with sparse tensors", "export the model with dense ones"),
    ),
    (
        "bincount histc histogram",
        never_compared("compare with each value or bound, and sum(), if there are few"),
    ),
    (
        "grid_sampler_2d grid_sampler_3d",
        never_compared(
            "use F.interpolate() if the positions are fixed, or export to ONNX, where GridSample "
            "on images is supported"
        ),
    ),
    ("unfold", never_compared("use F.unfold(), slices, or a convolution")),
    ("mode", never_compared(_IN_APPLICATION)),
    ("masked_scatter", never_compared("use torch.where()")),
    (
        "_cdist_forward _pdist_forward",
        never_compared("use differences of unsqueezed tensors, and torch.linalg.vector_norm()"),
    ),
    ("_embedding_bag", never_compared("use F.embedding() and sum() or mean()")),
    ("segment_reduce", never_compared("use index_add() or scatter_reduce()")),
    ("diagonal_scatter", never_compared("use torch.where() with a constant mask")),
    ("put", never_compared("use index_put() or scatter() on the flattened tensor")),
    (
        "_upsample_bicubic2d_aa _upsample_bilinear2d_aa",
        never_compared("use F.interpolate() without antialias, or F.avg_pool2d() before it"),
    ),
    (
        "__lshift__ __rshift__ bitwise_left_shift bitwise_right_shift",
        never_compared("multiply by a power of 2, or divide by one with //"),
    ),
    ("gcd lcm", never_compared("compute it before the export if it follows from constants")),
    ("copysign", never_compared("use abs() and torch.where()")),
    ("hypot", never_compared("use sqrt() of a sum of squares")),
    ("ldexp", never_compared("multiply by torch.exp2()")),
    ("frexp nextafter", never_compared(_IN_APPLICATION)),
    ("nanmedian", never_compared("use median() of torch.where(isnan(), ...)")),
    (
        "digamma erfinv i0 igamma igammac lgamma polygamma special_airy_ai special_bessel_j0 "
        "special_bessel_j1 special_bessel_y0 special_bessel_y1 special_entr special_erfcx "
        "special_i0e special_i1 special_i1e special_log_ndtr special_ndtri special_zeta",
        Refusal(
            "the C library has no function for it, or PyTorch's has other last digits",
            "use a table or a polynomial over the range that you need",
        ),
    ),
)
"""Name -> refusal; the name includes the overload if other overloads are supported."""

OTHER = never_compared("compute it before or after the model, or write it with other operators")
_BACKWARD = "_backward"


def refusal_of(name: str, namespace: str | None) -> Refusal:
    """Return the reason and the replacement for an unsupported operator.

    Parameters
    ----------
    name
        the name with its overload, as "nonzero.default".
    namespace
        "aten", or that of another library; None for an operator that runs graphs.
    """
    packet = name.partition(".")[0]
    if namespace not in ("aten", None, "higher_order"):
        return Refusal(
            "it is no operator of PyTorch itself, and its library does not say what it computes",
            "replace it by operators of PyTorch, or end the model before it",
        )
    if packet.endswith(_BACKWARD):
        return _TRAINING
    return REFUSED.get(name) or REFUSED.get(packet) or OTHER
