/* Mathematics for loops that a compiler turns into vector instructions: v_NAME_f32 and v_NAME_f64.
 *
 * Nothing here branches or calls, so GCC and Clang vectorise `for (i...) y[i] = v_exp_f32(x[i]);`
 * under -O3 -fno-math-errno -fno-trapping-math -ffp-contract=off. Those flags also make the bits of
 * a result independent of where in a loop it is computed; they differ between builds with and
 * without fused multiply-add. Errors are listed in docs/notes/kernels.md.
 *
 * vector_functions.h holds each function once, for both types; the coefficients in
 * vector_polynomials.h are written by `python -m tools.polynomials`.
 */
#ifndef ADJOINT_VECTOR_MATH_H
#define ADJOINT_VECTOR_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* A file of loops for other instructions than the compiler's own says V_FUSED itself. */
#ifndef V_FUSED
#if defined(__FMA__) || defined(__AVX512F__) || defined(__ARM_FEATURE_FMA)
#define V_FUSED 1
#else
#define V_FUSED 0
#endif
#endif

#if V_FUSED && defined(__GNUC__)
static inline float v_fma_f32(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline double v_fma_f64(double a, double b, double c) { return __builtin_fma(a, b, c); }
#else
static inline float v_fma_f32(float a, float b, float c) { return a * b + c; }
static inline double v_fma_f64(double a, double b, double c) { return a * b + c; }
#endif

#include "vector_polynomials.h"

#define V_JOIN(name, suffix) v_##name##_##suffix
#define V_JOIN_CONSTANT(name, suffix) V_##name##_##suffix

#define REAL float
#define BITS uint32_t
#define F(name) V_JOIN(name, f32)
#define K(name) V_JOIN_CONSTANT(name, f32)
#define DIGITS 23
#define BIAS 127
#include "vector_functions.h"
#undef REAL
#undef BITS
#undef F
#undef K
#undef DIGITS
#undef BIAS

#define REAL double
#define BITS uint64_t
#define F(name) V_JOIN(name, f64)
#define K(name) V_JOIN_CONSTANT(name, f64)
#define DIGITS 52
#define BIAS 1023
#include "vector_functions.h"
#undef REAL
#undef BITS
#undef F
#undef K
#undef DIGITS
#undef BIAS

#endif
