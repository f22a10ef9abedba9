/* Products of filters with windows that lie side by side, without a copy of each window.
 *
 * Of a flat padded plane, what one element of a filter meets is a slice. A block of filters takes
 * its products with a few vectors of such slices at a time, whose sums stay in registers. Windows
 * that would begin in one row and end in the next are computed too: they are not taken, or have a
 * gradient of zero. Planes have room for a few vectors behind them.
 */
#if defined(__AVX512F__)
#include <immintrin.h>
#define VECTOR 16
#define FILTERS 8
typedef __m512 Vector;
#define V_LOAD _mm512_loadu_ps
#define V_STORE _mm512_storeu_ps
#define V_REPEATED _mm512_set1_ps
#define V_ADDED_PRODUCT _mm512_fmadd_ps
#define V_ZERO _mm512_setzero_ps()
#define V_TOTAL _mm512_reduce_add_ps
#elif defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#define VECTOR 8
#define FILTERS 4
typedef __m256 Vector;
#define V_LOAD _mm256_loadu_ps
#define V_STORE _mm256_storeu_ps
#define V_REPEATED _mm256_set1_ps
#define V_ADDED_PRODUCT _mm256_fmadd_ps
#define V_ZERO _mm256_setzero_ps()
static inline float V_TOTAL(Vector x) {
    float parts[VECTOR];
    V_STORE(parts, x);
    return ((parts[0] + parts[4]) + (parts[2] + parts[6])) +
           ((parts[1] + parts[5]) + (parts[3] + parts[7]));
}
#endif

#if defined(VECTOR)
#define ALWAYS static inline __attribute__((always_inline))
#define ABREAST 3 /* vectors that a block of filters meets at a time */
#define STRETCH (20 * ABREAST * VECTOR) /* places whose sums are put into rows together */
#define BANK 8 /* filters whose elements lie side by side */

typedef struct {
    const float *images;
    const npy_int64 *offsets; /* of a window's elements, from its first */
    npy_intp k;
    const float *bank; /* k rows of BANK filters */
} Windows;

/* The sums of `filters` filters over `wide` vectors of places. */
ALWAYS void tile(const Windows *given, npy_intp place, float *sums, const int filters,
                 const int wide) {
    Vector total[FILTERS][ABREAST];
    for (int f = 0; f < filters; f++) {
        for (int v = 0; v < wide; v++) total[f][v] = V_ZERO;
    }
    const float *images = given->images + place, *row = given->bank;
    for (npy_intp i = 0; i < given->k; i++, row += BANK) {
        const float *seen = images + given->offsets[i];
        Vector met[ABREAST];
        for (int v = 0; v < wide; v++) met[v] = V_LOAD(seen + v * VECTOR);
        for (int f = 0; f < filters; f++) {
            const Vector factor = V_REPEATED(row[f]);
            for (int v = 0; v < wide; v++) {
                total[f][v] = V_ADDED_PRODUCT(factor, met[v], total[f][v]);
            }
        }
    }
    for (int f = 0; f < filters; f++) {
        for (int v = 0; v < wide; v++) V_STORE(sums + f * STRETCH + v * VECTOR, total[f][v]);
    }
}

#define TILES(filters)                                                                             \
    static void tiles_##filters(const Windows *given, npy_intp start, npy_intp n, float *sums) {   \
        npy_intp i = 0;                                                                            \
        for (; i + 2 * VECTOR < n; i += ABREAST * VECTOR) {                                          \
            tile(given, start + i, sums + i, filters, ABREAST);                                    \
        }                                                                                          \
        for (; i < n; i += VECTOR) tile(given, start + i, sums + i, filters, 1);                    \
    }
TILES(1)
TILES(4)
#if FILTERS == 8
TILES(8)
#endif

static inline int block_of(npy_intp rows) {
    return rows >= FILTERS ? FILTERS : rows >= 4 ? 4 : 1;
}

/* The parts of rows that lie in a stretch of a plane, put into a result. */
static void put_rows(char *out, npy_intp step, npy_intp pitch, npy_intp w, const float *sums,
                     npy_intp start, npy_intp end) {
    for (npy_intp row = start / pitch; row * pitch < end; row++) {
        const npy_intp left = row * pitch, right = left + w;
        const npy_intp from = left < start ? start : left, to = right < end ? right : end;
        if (from >= to) continue;
        memcpy(out + row * step + (from - left) * 4, sums + from - start, (size_t)(to - from) * 4);
    }
}

/* Each filter's sums over the windows of each plane; what a bank has beyond filters is zero. */
static void planes_f32(char **args, const npy_intp *dimensions, const npy_intp *steps,
                       void *data) {
    const npy_intp count = dimensions[0], planes = dimensions[2], k = dimensions[3];
    const npy_intp filters = dimensions[6], h = dimensions[7], w = dimensions[8];
    const npy_intp *core = steps + 6, rows = filters == 1 ? 1 : (filters + 3) / 4 * 4;
    float sums[FILTERS * STRETCH];
    for (npy_intp turn = 0; turn < count; turn++) {
        const npy_int64 *starts = (const npy_int64 *)ROW(1, turn);
        const npy_int64 pitch = *(const npy_int64 *)ROW(4, turn);
        const npy_intp all = (h - 1) * pitch + w;
        for (npy_intp i = 0; i < planes * ((all + STRETCH - 1) / STRETCH); i++) {
            const npy_intp plane = i % planes, start = i / planes * STRETCH;
            const npy_intp end = all - start < STRETCH ? all : start + STRETCH;
            for (npy_intp first = 0, block; first < rows; first += block) {
                block = block_of(rows - first);
                const float *bank = (const float *)(ROW(3, turn) + first / BANK * core[3]);
                const Windows given = {(const float *)ROW(0, turn) + starts[plane],
                                       (const npy_int64 *)ROW(2, turn), k, bank + first % BANK};
                if (block == 1) tiles_1(&given, start, end - start, sums);
                else if (block == 4) tiles_4(&given, start, end - start, sums);
#if FILTERS == 8
                else tiles_8(&given, start, end - start, sums);
#endif
                for (npy_intp f = first; f < first + block && f < filters; f++) {
                    put_rows(ROW(5, turn) + plane * core[6] + f * core[7], core[8], pitch, w,
                             sums + (f - first) * STRETCH, start, end);
                }
            }
        }
    }
    forget_exceptions();
}

/* Planes with zeros around them: how many rows come before, and how many elements of a row. */
static void laid_f32(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data) {
    const npy_intp h = dimensions[1], w = dimensions[2], m = dimensions[3], n = dimensions[4];
    const npy_intp *core = steps + 4;
    for (npy_intp turn = 0; turn < dimensions[0]; turn++) {
        const npy_int64 top = *(const npy_int64 *)ROW(1, turn);
        const npy_int64 left = *(const npy_int64 *)ROW(2, turn);
        for (npy_intp row = 0; row < m; row++) {
            float *to = (float *)(ROW(3, turn) + row * core[2]);
            const char *from = ROW(0, turn) + (row - top) * core[0];
            const npy_intp start = row < top || row >= top + h ? n : left;
            for (npy_intp i = 0; i < start; i++) to[i] = 0;
            if (start == n) continue;
            if (core[1] == 4) {
                const float *read = (const float *)from;
                for (npy_intp i = 0; i < w; i++) to[left + i] = read[i];
            } else {
                for (npy_intp i = 0; i < w; i++) {
                    to[left + i] = ELEMENT(const float, from, core[1], i);
                }
            }
            for (npy_intp i = left + w; i < n; i++) to[i] = 0;
        }
    }
}

/* The sums over all places of `filters` gradients times `wide` of a window's elements. */
ALWAYS void slope(char **args, const npy_intp *dimensions, const npy_intp *core, npy_intp first,
                  npy_intp element, const int filters, const int wide) {
    const npy_intp samples = dimensions[1], planes = dimensions[3], n = dimensions[6];
    const npy_int64 *starts = (const npy_int64 *)args[1];
    const npy_int64 *offsets = (const npy_int64 *)args[2] + element;
    Vector total[FILTERS][ABREAST];
    for (int f = 0; f < filters; f++) {
        for (int v = 0; v < wide; v++) total[f][v] = V_ZERO;
    }
    for (npy_intp sample = 0; sample < samples; sample++) {
        for (npy_intp plane = 0; plane < planes; plane++) {
            const char *images = args[0] + sample * core[0] + starts[plane] * 4;
            const char *grads = args[3] + sample * core[4] + plane * core[5] + first * core[6];
            for (npy_intp i = 0; i < n; i += VECTOR) {
                Vector met[ABREAST];
                for (int v = 0; v < wide; v++) {
                    met[v] = V_LOAD((const float *)images + offsets[v] + i);
                }
                for (int f = 0; f < filters; f++) {
                    Vector factor = V_LOAD((const float *)(grads + f * core[6]) + i);
                    __asm__("" : "+v"(factor)); /* read once, not by each product */
                    for (int v = 0; v < wide; v++) {
                        total[f][v] = V_ADDED_PRODUCT(factor, met[v], total[f][v]);
                    }
                }
            }
        }
    }
    for (int f = 0; f < filters; f++) {
        for (int v = 0; v < wide; v++) {
            *(float *)(args[4] + (first + f) * core[8] + (element + v) * core[9]) =
                V_TOTAL(total[f][v]);
        }
    }
}

#define SLOPES(filters)                                                                            \
    static void slopes_##filters(char **args, const npy_intp *dimensions, const npy_intp *core,    \
                                 npy_intp first) {                                                 \
        npy_intp i = 0;                                                                            \
        for (; i + ABREAST <= dimensions[4]; i += ABREAST) {                                       \
            slope(args, dimensions, core, first, i, filters, ABREAST);                             \
        }                                                                                          \
        for (; i < dimensions[4]; i++) slope(args, dimensions, core, first, i, filters, 1);        \
    }
SLOPES(1)
SLOPES(4)
#if FILTERS == 8
SLOPES(8)
#endif

/* The gradient of each filter's elements: a multiple of VECTOR places, zeros where none is, of one
 * filter or a multiple of four. */
static void planes_back_f32(char **args, const npy_intp *dimensions, const npy_intp *steps,
                            void *data) {
    for (npy_intp turn = 0; turn < dimensions[0]; turn++) {
        char *own[] = {ROW(0, turn), ROW(1, turn), ROW(2, turn), ROW(3, turn), ROW(4, turn)};
        for (npy_intp first = 0; first < dimensions[5];) {
            const int block = block_of(dimensions[5] - first);
            if (block == 1) slopes_1(own, dimensions, steps + 5, first);
            else if (block == 4) slopes_4(own, dimensions, steps + 5, first);
#if FILTERS == 8
            else slopes_8(own, dimensions, steps + 5, first);
#endif
            first += block;
        }
    }
    forget_exceptions();
}
#endif
