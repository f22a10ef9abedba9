/* Where the element of a rank lies in a row: equals in their order, NaN after all numbers.
 *
 * Floats are ordered as whole numbers of their bits are, once those of negative ones are turned. Bit
 * by bit, how many lie below says which the sought one has: no element is moved, and none guessed.
 * A rank of -1 means the lower median, which any NaN is, and -2 that of what is not NaN.
 */
#define RANKED(T, S, I, U, MOST_KEY)                                                               \
    static inline npy_intp keys_below_##S(const I *keys, npy_intp n, I limit) {                    \
        npy_intp total = 0;                                                                        \
        for (npy_intp start = 0; start < n; start += 1 << 15) {                                    \
            const npy_intp end = n - start < 1 << 15 ? n : start + (1 << 15);                      \
            I some = 0;                                                                            \
            for (npy_intp i = start; i < end; i++) some += keys[i] < limit;                        \
            total += some;                                                                         \
        }                                                                                          \
        return total;                                                                              \
    }                                                                                              \
    static void ranked_##S(char **args, const npy_intp *dimensions, const npy_intp *steps,         \
                           void *data) {                                                           \
        const npy_intp count = dimensions[0], n = dimensions[1];                                   \
        I *keys = n ? malloc((size_t)n * sizeof(I)) : NULL;                                        \
        if (n && keys == NULL) {                                                                   \
            no_memory();                                                                           \
            return;                                                                                \
        }                                                                                          \
        for (npy_intp row = 0; n && row < count; row++) {                                          \
            for (npy_intp i = 0; i < n; i++) {                                                     \
                const T x = ELEMENT(const T, ROW(0, row), steps[3], i) + 0; /* one zero */         \
                I bits;                                                                            \
                memcpy(&bits, &x, sizeof(T));                                                      \
                bits ^= (bits >> (8 * sizeof(T) - 1)) & MOST_KEY;                                  \
                keys[i] = x != x ? MOST_KEY : bits;                                                \
            }                                                                                      \
            const npy_intp known = keys_below_##S(keys, n, MOST_KEY);                              \
            npy_intp rank = *(const npy_int64 *)ROW(1, row);                                       \
            if (rank == -1) rank = known < n ? known : (n - 1) / 2;                                \
            else if (rank == -2) rank = known ? (known - 1) / 2 : 0;                               \
            U key = (U)MOST_KEY + 1; /* the least */                                               \
            npy_intp before = 0;                                                                   \
            for (int bit = 8 * sizeof(T) - 1; bit >= 0; bit--) {                                   \
                const U higher = key + ((U)1 << bit);                                              \
                const npy_intp below = keys_below_##S(keys, n, (I)higher);                         \
                if (below > rank) continue;                                                        \
                key = higher;                                                                      \
                before = below;                                                                    \
            }                                                                                      \
            npy_intp place = 0;                                                                    \
            for (npy_intp later = rank - before;; place++) {                                       \
                if (keys[place] == (I)key && later-- == 0) break;                                  \
            }                                                                                      \
            *(npy_int64 *)ROW(2, row) = place;                                                     \
        }                                                                                          \
        free(keys);                                                                                \
        forget_exceptions();                                                                       \
    }

RANKED(float, f32, npy_int32, npy_uint32, NPY_MAX_INT32)
RANKED(double, f64, npy_int64, npy_uint64, NPY_MAX_INT64)
