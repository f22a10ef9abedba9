/* Windows over flat images, some of them side by side.
 *
 * A window is a list of places; or one place for each window, and how far from it the others lie,
 * which is the same for all.
 */
#define ABREAST_WINDOWS 16 /* of floats; vectors of them are GCC's and Clang's */

#if defined(__GNUC__)

/* Where some windows begin, and their images: those that follow another in the order of results. */
typedef struct {
    const char *images[ABREAST_WINDOWS], *lists[ABREAST_WINDOWS];
} Abreast;

static inline void some_windows(Abreast *found, char **args, const npy_intp *steps, npy_intp core,
                                npy_intp start, npy_intp w, npy_intp all, const int many) {
    npy_intp row = start / w, window = start % w;
    for (npy_intp lane = 0; lane < many; lane++) {
        found->images[lane] = ROW(0, row);
        found->lists[lane] = ROW(1, row) + window * core;
        if (start + lane + 1 >= all) continue; /* the last one again */
        window = window + 1 == w ? 0 : window + 1;
        row += window == 0;
    }
}

#if defined(__AVX2__)
#include <immintrin.h>
#endif

/* Elements of one image at places by number. */
typedef npy_int32 Numbers __attribute__((vector_size(ABREAST_WINDOWS * 4)));
typedef float Elements __attribute__((vector_size(ABREAST_WINDOWS * 4)));

static inline void elements_f32(Elements *met, const Numbers *places, const float *image) {
#if defined(__AVX512F__)
    *met = (Elements)_mm512_i32gather_ps((__m512i)*places, image, 4);
#elif defined(__AVX2__)
    const __m256i *halves = (const __m256i *)places;
    for (int half = 0; half < 2; half++) {
        const __m256 found = _mm256_i32gather_ps(image, halves[half], 4);
        memcpy((char *)met + half * sizeof(found), &found, sizeof(found));
    }
#else
    for (int lane = 0; lane < ABREAST_WINDOWS; lane++) (*met)[lane] = image[(*places)[lane]];
#endif
}

typedef npy_int64 LongNumbers __attribute__((vector_size(ABREAST_WINDOWS * 4)));
typedef double LongElements __attribute__((vector_size(ABREAST_WINDOWS * 4)));

static inline void elements_f64(LongElements *met, const LongNumbers *places, const double *image) {
    WRITTEN_OUT
    for (int lane = 0; lane < ABREAST_WINDOWS / 2; lane++) (*met)[lane] = image[(*places)[lane]];
}

/* The greatest element of each window and its place: the first of equals, and any NaN. */
#define WINDOWS(T, S, I, MANY)                                                                     \
    typedef T Met_##S __attribute__((vector_size(MANY * sizeof(T))));                              \
    typedef I At_##S __attribute__((vector_size(MANY * sizeof(T))));                               \
    static void windows_##S(char **args, const npy_intp *dimensions, const npy_intp *steps,        \
                            void *data) {                                                          \
        const npy_intp w = dimensions[2], k = dimensions[3], all = dimensions[0] * w;              \
        const int apart = data != NULL; /* places of windows, and of elements from those */        \
        const npy_intp *core = steps + 4 + apart;                                                  \
        const int ordered = core[0] == sizeof(T) && core[1] == sizeof(npy_int32);                  \
        for (npy_intp start = 0; start < all; start += MANY) {                                     \
            Abreast given;                                                                         \
            At_##S at, places;                                                                     \
            Met_##S best, met;                                                                     \
            const int near = ordered && start % w + MANY <= w; /* windows of one image */          \
            if (near) some_windows(&given, args, steps, core[1], start, w, all, 1);                \
            else some_windows(&given, args, steps, core[1], start, w, all, MANY);                  \
            for (npy_intp j = 0; j < k; j++) {                                                     \
                const npy_int32 on = apart ? ELEMENT(const npy_int32, args[2], core[2], j) : 0;    \
                const npy_intp list = apart ? 0 : j * core[2];                                     \
                if (near) {                                                                        \
                    npy_int32 listed[MANY];                                                        \
                    memcpy(listed, given.lists[0] + list, sizeof(listed));                         \
                    WRITTEN_OUT                                                                    \
                    for (int lane = 0; lane < MANY; lane++) places[lane] = listed[lane] + on;      \
                    elements_##S(&met, &places, (const T *)given.images[0]);                       \
                } else {                                                                           \
                    WRITTEN_OUT                                                                    \
                    for (int lane = 0; lane < MANY; lane++) {                                      \
                        const npy_int32 place = *(const npy_int32 *)(given.lists[lane] + list);    \
                        places[lane] = place + on;                                                 \
                        met[lane] = ELEMENT(const T, given.images[lane], core[0], place + on);     \
                    }                                                                              \
                }                                                                                  \
                if (j == 0) best = met, at = places;                                               \
                const At_##S wins = (met > best) | (met != met);                                   \
                at = (at & ~wins) | (places & wins);                                               \
                best = (Met_##S)(((At_##S)best & ~wins) | ((At_##S)met & wins));                   \
            }                                                                                      \
            npy_intp row = start / w, window = start % w;                                          \
            if (near && core[3] == sizeof(T) && core[4] == sizeof(npy_int64)) {                    \
                T *values = (T *)ROW(2 + apart, row) + window;                                     \
                npy_int64 *numbers = (npy_int64 *)ROW(3 + apart, row) + window;                    \
                memcpy(values, &best, sizeof(best));                                               \
                WRITTEN_OUT                                                                        \
                for (int lane = 0; lane < MANY; lane++) numbers[lane] = at[lane];                  \
                continue;                                                                          \
            }                                                                                      \
            for (npy_intp lane = 0; lane < MANY && start + lane < all; lane++) {                   \
                ELEMENT(T, ROW(2 + apart, row), core[3], window) = best[lane];                     \
                ELEMENT(npy_int64, ROW(3 + apart, row), core[4], window) = at[lane];               \
                window = window + 1 == w ? 0 : window + 1;                                         \
                row += window == 0;                                                                \
            }                                                                                      \
        }                                                                                          \
        forget_exceptions();                                                                       \
    }

WINDOWS(float, f32, npy_int32, ABREAST_WINDOWS)
WINDOWS(double, f64, npy_int64, ABREAST_WINDOWS / 2)
#endif

/* Sums of windows over planes, a row of them after the other, and the gradient of that: `given` says
 * the sizes of windows, the steps between them, and how far before a plane the first begins. */
#define POOLED(T, S)                                                                               \
    static void pooled_##S(char **args, const npy_intp *dimensions, const npy_intp *steps,         \
                           void *data) {                                                           \
        const int back = data != NULL;                                                             \
        const npy_intp h = dimensions[back ? 4 : 1], w = dimensions[back ? 5 : 2];                 \
        const npy_intp m = dimensions[back ? 1 : 4], n = dimensions[back ? 2 : 5];                 \
        const npy_intp *core = steps + 3, wide = back ? core[3] : core[0];                         \
        const npy_intp narrow = back ? core[0] : core[3];                                          \
        T *sums = malloc((size_t)(w + 1) * sizeof(T));                                             \
        if (sums == NULL) {                                                                        \
            no_memory();                                                                           \
            return;                                                                                \
        }                                                                                          \
        for (npy_intp turn = 0; turn < dimensions[0]; turn++) {                                    \
            const npy_int64 *given = (const npy_int64 *)ROW(1, turn);                              \
            char *plane = ROW(back ? 2 : 0, turn), *pool = ROW(back ? 0 : 2, turn);                \
            for (npy_intp row = 0; back && row < h; row++) {                                       \
                memset(plane + row * wide, 0, (size_t)w * sizeof(T));                              \
            }                                                                                      \
            for (npy_intp r = 0; r < m; r++) {                                                     \
                const npy_intp top = r * given[2] - given[4], end = top + given[0];                \
                T *row = (T *)(pool + r * narrow);                                                 \
                memset(sums, 0, (size_t)w * sizeof(T));                                            \
                for (npy_intp y = top < 0 ? 0 : top; !back && y < end && y < h; y++) {             \
                    const T *from = (const T *)(plane + y * wide);                                 \
                    for (npy_intp x = 0; x < w; x++) sums[x] += from[x];                           \
                }                                                                                  \
                for (npy_intp c = 0; c < n; c++) {                                                 \
                    const npy_intp left = c * given[3] - given[5], right = left + given[1];        \
                    const npy_intp last = right < w ? right : w;                                   \
                    T total = 0;                                                                   \
                    for (npy_intp x = left < 0 ? 0 : left; x < last; x++) {                        \
                        if (back) sums[x] += row[c];                                               \
                        else total += sums[x];                                                     \
                    }                                                                              \
                    if (!back) row[c] = total;                                                     \
                }                                                                                  \
                for (npy_intp y = top < 0 ? 0 : top; back && y < end && y < h; y++) {              \
                    T *to = (T *)(plane + y * wide);                                               \
                    for (npy_intp x = 0; x < w; x++) to[x] += sums[x];                             \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        free(sums);                                                                                \
        forget_exceptions();                                                                       \
    }

POOLED(float, f32)
