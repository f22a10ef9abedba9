/* Images read between their pixels, and the gradients of that.
 *
 * Pixels are turned to rows of their channels, and places are gone through one by one: what is
 * read at a place, or added to, is then a few vectors. What is outside is one more pixel, of zeros.
 */
#define SAMPLES 64 /* places whose channels are turned at a time */
#define SIDES 3    /* dimensions of images, at most */
#define ROUND 16   /* channels that a sum has a lane for each of */

/* Coordinates beyond an image: zeros are read, the border is, or they are counted back. */
enum { ZEROS, BORDER, REFLECTION };

static void turn_f32(const char *from, npy_intp m, npy_intp n, npy_intp line, char *to,
                     npy_intp next) {
    char *args[] = {(char *)from, to};
    const npy_intp dimensions[] = {1, m, n}, steps[] = {0, 0, line, 4, next, 4};
    across_i32(args, dimensions, steps, NULL);
}

static void turn_f64(const char *from, npy_intp m, npy_intp n, npy_intp line, char *to,
                     npy_intp next) {
    char *args[] = {(char *)from, to};
    const npy_intp dimensions[] = {1, m, n}, steps[] = {0, 0, line, 8, next, 8};
    across_i64(args, dimensions, steps, NULL);
}

/* A place among pixels: the corners around it, of numbers and weights, and what moves it. */
#define SAMPLING(T, S, F)                                                                          \
    typedef struct {                                                                               \
        npy_intp numbers[1 << SIDES];                                                              \
        T weights[1 << SIDES], parts[SIDES], slopes[SIDES];                                        \
    } Place_##S;                                                                                   \
    static inline T reflected_##S(T at, npy_intp size, int align, T *slope) {                      \
        const T low = align ? 0 : (T)-0.5, span = (T)(align ? size - 1 : size);                    \
        if (span == 0) return at * 0;                                                              \
        const T away = F(fabs)(at - low), extra = F(fmod)(away, span);                             \
        const int even = F(fmod)(F(floor)(away / span), 2) == 0;                                   \
        if (even == (at < low)) *slope = -*slope;                                                  \
        return even ? extra + low : span - extra + low;                                            \
    }                                                                                              \
    static inline T pixel_##S(T at, npy_intp size, int padding, int align, T *slope) {             \
        const T last = (T)(size - 1);                                                              \
        *slope = align ? last / 2 : (T)size / 2;                                                   \
        at = align ? (at + 1) * (last / 2) : ((at + 1) * (T)size - 1) / 2;                         \
        if (padding == ZEROS) return at;                                                           \
        if (padding == REFLECTION) at = reflected_##S(at, size, align, slope);                     \
        if (at > 0 && at < last) return at;                                                        \
        *slope = 0;                                                                                \
        return at >= last ? last : 0; /* what is nowhere, at the start */                          \
    }                                                                                              \
    static inline void place_##S(const char *grid, npy_intp step, const npy_int64 *sizes,          \
                                 const int sides, int padding, int align, Place_##S *found) {      \
        T lows[SIDES];                                                                             \
        npy_intp all = 1;                                                                          \
        for (int d = 0; d < sides; d++) { /* x, the last of the sizes, comes first */              \
            const T given = ELEMENT(const T, grid, step, sides - 1 - d);                           \
            const T at = pixel_##S(given, sizes[d], padding, align, &found->slopes[d]);            \
            lows[d] = F(floor)(at);                                                                \
            found->parts[d] = at - lows[d];                                                        \
            all *= sizes[d];                                                                       \
        }                                                                                          \
        WRITTEN_OUT                                                                                \
        for (int corner = 0; corner < 1 << sides; corner++) {                                      \
            npy_intp number = 0;                                                                   \
            int inside = 1;                                                                        \
            T weight = 1;                                                                          \
            for (int d = 0; d < sides; d++) {                                                      \
                const int further = corner >> (sides - 1 - d) & 1;                                 \
                const T part = found->parts[d], row = lows[d] + (T)further;                        \
                inside &= row >= 0 && row <= (T)(sizes[d] - 1);                                    \
                number = inside ? number * sizes[d] + (npy_intp)row : 0;                           \
                weight *= further ? part : 1 - part;                                               \
            }                                                                                      \
            found->numbers[corner] = inside ? number : all;                                        \
            found->weights[corner] = weight;                                                       \
        }                                                                                          \
    }                                                                                              \
    static inline void read_##S(const T *table, const Place_##S *place, const int corners,         \
                                npy_intp c, T *restrict out) {                                     \
        const T *rows[1 << SIDES];                                                                 \
        for (int k = 0; k < corners; k++) rows[k] = table + place->numbers[k] * c;                 \
        for (npy_intp j = 0; j < c; j++) {                                                         \
            T sum = 0;                                                                             \
            for (int k = 0; k < corners; k++) sum += place->weights[k] * rows[k][j];               \
            out[j] = sum;                                                                          \
        }                                                                                          \
    }                                                                                              \
    /* By how much each coordinate moves the products of channels with their gradients. */         \
    static inline void moved_##S(const T *table, const Place_##S *place, const int sides,          \
                                 npy_intp c, const T *grad, char *out, npy_intp step) {            \
        for (int d = 0; d < sides; d++) {                                                          \
            T factors[1 << SIDES], lanes[ROUND] = {0}, total = 0;                                  \
            for (int k = 0; k < 1 << sides; k++) {                                                 \
                factors[k] = k >> (sides - 1 - d) & 1 ? 1 : -1;                                    \
                for (int other = 0; other < sides; other++) {                                      \
                    const T part = place->parts[other];                                            \
                    const int further = k >> (sides - 1 - other) & 1;                              \
                    if (other != d) factors[k] *= further ? part : 1 - part;                       \
                }                                                                                  \
            }                                                                                      \
            npy_intp start = 0;                                                                    \
            for (; start + ROUND <= c; start += ROUND) {                                           \
                T sums[ROUND] = {0};                                                               \
                for (int k = 0; k < 1 << sides; k++) {                                             \
                    const T *row = table + place->numbers[k] * c + start;                          \
                    for (int j = 0; j < ROUND; j++) sums[j] += factors[k] * row[j];                \
                }                                                                                  \
                for (int j = 0; j < ROUND; j++) lanes[j] += sums[j] * grad[start + j];             \
            }                                                                                      \
            for (npy_intp j = start; j < c; j++) {                                                 \
                T sum = 0;                                                                         \
                for (int k = 0; k < 1 << sides; k++)                                               \
                    sum += factors[k] * table[place->numbers[k] * c + j];                          \
                total += sum * grad[j];                                                            \
            }                                                                                      \
            for (int half = ROUND / 2; half > 0; half /= 2) {                                      \
                for (int j = 0; j < half; j++) lanes[j] += lanes[j + half];                        \
            }                                                                                      \
            ELEMENT(T, out, step, sides - 1 - d) = (lanes[0] + total) * place->slopes[d];          \
        }                                                                                          \
    }                                                                                              \
    static inline void sampled_places_##S(char **args, const npy_intp *dimensions,                 \
                                          const npy_intp *core, const T *table, T *rows,           \
                                          const int sides) {                                       \
        const npy_intp c = dimensions[1], k = dimensions[3], size = sizeof(T);                     \
        const npy_int64 *sizes = (const npy_int64 *)args[2];                                       \
        Place_##S place;                                                                           \
        for (npy_intp start = 0; start < k; start += SAMPLES) {                                    \
            const npy_intp count = k - start < SAMPLES ? k - start : SAMPLES;                      \
            for (npy_intp i = 0; i < count; i++) {                                                 \
                place_##S(args[1] + (start + i) * core[2], core[3], sizes, sides,                  \
                          (int)sizes[sides], (int)sizes[sides + 1], &place);                       \
                read_##S(table, &place, 1 << sides, c, rows + i * c);                              \
            }                                                                                      \
            turn_##S((const char *)rows, count, c, c * size, args[3] + start * size, core[5]);     \
        }                                                                                          \
    }                                                                                              \
    static inline void sampled_back_places_##S(char **args, const npy_intp *dimensions,            \
                                               const npy_intp *core, const T *table, T *sums,      \
                                               T *rows, const int sides) {                         \
        const npy_intp c = dimensions[1], k = dimensions[2], size = sizeof(T);                     \
        const npy_int64 *sizes = (const npy_int64 *)args[3];                                       \
        Place_##S place;                                                                           \
        for (npy_intp start = 0; start < k; start += SAMPLES) {                                    \
            const npy_intp count = k - start < SAMPLES ? k - start : SAMPLES;                      \
            turn_##S(args[0] + start * size, c, count, core[0], (char *)rows, c * size);           \
            for (npy_intp i = 0; i < count; i++) {                                                 \
                const T *grad = rows + i * c;                                                      \
                place_##S(args[2] + (start + i) * core[4], core[5], sizes, sides,                  \
                          (int)sizes[sides], (int)sizes[sides + 1], &place);                       \
                for (int n = 0; n < 1 << sides; n++)                                               \
                    add_row_##S(sums + place.numbers[n] * c, grad, place.weights[n], c);           \
                moved_##S(table, &place, sides, c, grad, args[5] + (start + i) * core[9],          \
                          core[10]);                                                               \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    /* The channels of images, whose rows lie in order, at the places of a grid. */                \
    static void sampled_##S(char **args, const npy_intp *dimensions, const npy_intp *steps,        \
                            void *data) {                                                          \
        const npy_intp c = dimensions[1], p = dimensions[2], *core = steps + 4;                    \
        T *table = malloc((size_t)((p + 1 + SAMPLES) * c + 1) * sizeof(T));                        \
        if (table == NULL) {                                                                       \
            no_memory();                                                                           \
            return;                                                                                \
        }                                                                                          \
        memset(table + p * c, 0, (size_t)c * sizeof(T));                                           \
        for (npy_intp turn = 0; turn < dimensions[0]; turn++) {                                    \
            char *own[] = {ROW(0, turn), ROW(1, turn), ROW(2, turn), ROW(3, turn)};                \
            T *rows = table + (p + 1) * c;                                                         \
            turn_##S(own[0], c, p, core[0], (char *)table, c * (npy_intp)sizeof(T));               \
            if (dimensions[4] == 2) sampled_places_##S(own, dimensions, core, table, rows, 2);     \
            else sampled_places_##S(own, dimensions, core, table, rows, 3);                        \
        }                                                                                          \
        free(table);                                                                               \
        forget_exceptions();                                                                       \
    }                                                                                              \
    /* Gradients by images and by grids, from those of what was read. */                           \
    static void sampled_back_##S(char **args, const npy_intp *dimensions, const npy_intp *steps,   \
                                 void *data) {                                                     \
        const npy_intp c = dimensions[1], p = dimensions[3], *core = steps + 6;                    \
        const npy_intp size = sizeof(T);                                                           \
        T *table = malloc((size_t)((2 * p + 2 + SAMPLES) * c + 1) * sizeof(T));                    \
        if (table == NULL) {                                                                       \
            no_memory();                                                                           \
            return;                                                                                \
        }                                                                                          \
        T *sums = table + (p + 1) * c, *rows = sums + (p + 1) * c;                                 \
        memset(table + p * c, 0, (size_t)c * sizeof(T));                                           \
        for (npy_intp turn = 0; turn < dimensions[0]; turn++) {                                    \
            char *own[6];                                                                          \
            for (int i = 0; i < 6; i++) own[i] = ROW(i, turn);                                     \
            memset(sums, 0, (size_t)((p + 1) * c) * sizeof(T));                                    \
            turn_##S(own[1], c, p, core[2], (char *)table, c * size);                              \
            if (dimensions[4] == 2)                                                                \
                sampled_back_places_##S(own, dimensions, core, table, sums, rows, 2);              \
            else sampled_back_places_##S(own, dimensions, core, table, sums, rows, 3);             \
            turn_##S((const char *)sums, p, c, c * size, own[4], core[7]);                         \
        }                                                                                          \
        free(table);                                                                               \
        forget_exceptions();                                                                       \
    }

#define SINGLE(name) name##f
#define DOUBLE(name) name
SAMPLING(float, f32, SINGLE)
SAMPLING(double, f64, DOUBLE)
