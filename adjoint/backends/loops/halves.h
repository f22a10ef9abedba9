/* Floats of 16 bits, where the machine converts them itself. */
#if defined(__F16C__)
#include <immintrin.h>

static void load_halves(float *to, const char *from, npy_intp step, npy_intp count) {
    npy_intp i = 0;
    npy_uint16 rest[8] = {0};
    if (step == 2) {
        for (; i + 8 <= count; i += 8) {
            const __m128i bits = _mm_loadu_si128((const __m128i *)(from + 2 * i));
            _mm256_storeu_ps(to + i, _mm256_cvtph_ps(bits));
        }
    }
    while (i < count) {
        const npy_intp n = count - i < 8 ? count - i : 8;
        float wide[8];
        for (npy_intp k = 0; k < n; k++) rest[k] = ELEMENT(const npy_uint16, from, step, i + k);
        _mm256_storeu_ps(wide, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)rest)));
        memcpy(to + i, wide, (size_t)n * sizeof(float));
        i += n;
    }
}

static void store_halves(char *to, npy_intp step, const float *from, npy_intp count) {
    npy_intp i = 0;
    if (step == 2) {
        for (; i + 8 <= count; i += 8) {
            const __m256 wide = _mm256_loadu_ps(from + i);
            _mm_storeu_si128((__m128i *)(to + 2 * i), _mm256_cvtps_ph(wide, 0));
        }
    }
    while (i < count) {
        const npy_intp n = count - i < 8 ? count - i : 8;
        float wide[8] = {0};
        npy_uint16 rest[8];
        memcpy(wide, from + i, (size_t)n * sizeof(float));
        _mm_storeu_si128((__m128i *)rest, _mm256_cvtps_ph(_mm256_loadu_ps(wide), 0));
        for (npy_intp k = 0; k < n; k++) ELEMENT(npy_uint16, to, step, i + k) = rest[k];
        i += n;
    }
}

static void widened(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data) {
    float block[BLOCK];
    for (npy_intp start = 0; start < dimensions[0]; start += BLOCK) {
        const npy_intp left = dimensions[0] - start, n = left < BLOCK ? left : BLOCK;
        load_halves(block, args[0] + start * steps[0], steps[0], n);
        scatter(args[1] + start * steps[1], steps[1], (const char *)block, n, 4);
    }
    forget_exceptions();
}

static void narrowed(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data) {
    float block[BLOCK];
    for (npy_intp start = 0; start < dimensions[0]; start += BLOCK) {
        const npy_intp left = dimensions[0] - start, n = left < BLOCK ? left : BLOCK;
        gather((char *)block, args[0] + start * steps[0], steps[0], n, 4);
        store_halves(args[1] + start * steps[1], steps[1], block, n);
    }
    forget_exceptions();
}

#define DIFFERENCE(x, y) ((x) - (y))
#define QUOTIENT(x, y) ((x) / (y))

/* Computed in float and rounded, as NumPy does it one by one. */
#define OF_HALVES(name, load, store, joined)                                                       \
    static void name(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data) { \
        float x[BLOCK], y[BLOCK];                                                                  \
        for (npy_intp start = 0; start < dimensions[0]; start += BLOCK) {                          \
            const npy_intp left = dimensions[0] - start, n = left < BLOCK ? left : BLOCK;          \
            load(x, args[0] + start * steps[0], steps[0], n);                                      \
            load(y, args[1] + start * steps[1], steps[1], n);                                      \
            for (npy_intp i = 0; i < n; i++) x[i] = joined(x[i], y[i]);                            \
            store(args[2] + start * steps[2], steps[2], x, n);                                     \
        }                                                                                          \
        forget_exceptions();                                                                       \
    }

OF_HALVES(add_halves, load_halves, store_halves, SUM)
OF_HALVES(subtract_halves, load_halves, store_halves, DIFFERENCE)
OF_HALVES(multiply_halves, load_halves, store_halves, PRODUCT)
OF_HALVES(divide_halves, load_halves, store_halves, QUOTIENT)

#endif
