/* Paths of `ctc_loss`: from each frame to the next one stays in its state, goes on to the following,
 * or jumps over that, where this is a blank between two labels that differ. The states of L labels
 * are these with a blank before, between and after them.
 */
#define PATHS(T, S)                                                                                \
    /* Logarithms of sums over paths, one frame later; before the first state are two of none. */  \
    WHOLE ONCE static void advance_##S(T *seen, const T *jumps, const T *emitted, T *next,         \
                                       npy_intp n) {                                               \
        const T never = -(T)INFINITY;                                                              \
        IN_ANY_ORDER                                                                               \
        for (npy_intp i = 0; i < n; i++) {                                                         \
            const T stays = seen[i + 2], goes = seen[i + 1], leaps = seen[i] + jumps[i];           \
            const T peak = v_maximum_##S(v_maximum_##S(stays, goes), leaps);                       \
            const T base = peak == never ? 0 : peak;                                               \
            const T sum =                                                                          \
                v_exp_##S(stays - base) + v_exp_##S(goes - base) + v_exp_##S(leaps - base);        \
            next[i] = v_log_##S(sum) + base + emitted[i];                                          \
        }                                                                                          \
        memcpy(seen + 2, next, (size_t)n * sizeof(T));                                             \
    }                                                                                              \
    /* What follows the states, or leads up to them: `way` is where the next state lies. */        \
    static void pace_##S(T *seen, T *room, const char *row, npy_intp step, const char *labels,     \
                         npy_intp way, npy_intp n, int first) {                                    \
        T *next = room, *jumps = room + n, *emitted = jumps + n;                                   \
        for (npy_intp i = 0; i < n; i++) {                                                         \
            emitted[i] = ELEMENT(const T, row, step, ELEMENT(const npy_int64, labels, way, i));    \
        }                                                                                          \
        if (!first) {                                                                              \
            advance_##S(seen, jumps, emitted, next, n);                                            \
            return;                                                                                \
        }                                                                                          \
        seen[0] = seen[1] = -(T)INFINITY;                                                          \
        for (npy_intp i = 0; i < n; i++) seen[i + 2] = i < 2 ? emitted[i] : -(T)INFINITY;          \
    }                                                                                              \
    static void leaps_##S(T *jumps, const char *labels, npy_intp way, npy_intp n,                  \
                          npy_int64 blank) {                                                       \
        for (npy_intp i = 0; i < n; i++) {                                                         \
            const npy_int64 own = ELEMENT(const npy_int64, labels, way, i);                        \
            const npy_int64 last = i < 2 ? blank : ELEMENT(const npy_int64, labels, way, i - 2);   \
            jumps[i] = own != blank && own != last ? 0 : -(T)INFINITY;                             \
        }                                                                                          \
    }                                                                                              \
    /* The log sums over paths up to each state and frame; after the last frame they stay. */      \
    static void paths_##S(char **args, const npy_intp *dimensions, const npy_intp *steps,          \
                          void *data) {                                                            \
        const npy_intp frames = dimensions[1], n = dimensions[3], *core = steps + 5;               \
        T *seen = frames ? malloc((size_t)(4 * n + 2) * sizeof(T)) : NULL;                         \
        if (frames && seen == NULL) no_memory();                                                   \
        for (npy_intp turn = 0; seen != NULL && turn < dimensions[0]; turn++) {                    \
            const npy_int64 length = *(const npy_int64 *)ROW(2, turn);                             \
            const npy_int64 blank = *(const npy_int64 *)ROW(3, turn);                              \
            leaps_##S(seen + 2 + 2 * n, ROW(1, turn), core[2], n, blank);                          \
            for (npy_intp frame = 0; frame < frames; frame++) {                                    \
                const char *row = ROW(0, turn) + frame * core[0];                                  \
                if (!frame || frame < length)                                                      \
                    pace_##S(seen, seen + 2 + n, row, core[1], ROW(1, turn), core[2], n, !frame);  \
                char *to = ROW(4, turn) + frame * core[3];                                         \
                scatter(to, core[4], (const char *)(seen + 2), n, sizeof(T));                      \
            }                                                                                      \
        }                                                                                          \
        free(seen);                                                                                \
        forget_exceptions();                                                                       \
    }                                                                                              \
    /* For each class how likely it is, less how often paths pass it: those up to a state and      \
     * those from it, which are the former of all states turned around. */                         \
    WHOLE static void path_slopes_##S(char **args, const npy_intp *dimensions,                     \
                                      const npy_intp *steps, void *data) {                         \
        const npy_intp frames = dimensions[1], c = dimensions[2], most = dimensions[3];            \
        const npy_intp *core = steps + 9;                                                          \
        const T never = -(T)INFINITY;                                                              \
        T *seen = malloc((size_t)(6 * most + 2 * c + 2) * sizeof(T));                              \
        if (seen == NULL) no_memory();                                                             \
        for (npy_intp turn = 0; seen != NULL && turn < dimensions[0]; turn++) {                    \
            const npy_int64 length = *(const npy_int64 *)ROW(3, turn);                             \
            const npy_intp last = 2 * (npy_intp)*(const npy_int64 *)ROW(4, turn), n = last + 1;    \
            const T grad = *(const T *)ROW(6, turn), impossible = *(const T *)ROW(7, turn);        \
            T *room = seen + 2 + most, *emitted = room + 2 * n, *shares = room + 3 * most;         \
            T *own = shares + most, *row = own + most, *used = row + c;                            \
            const char *back = ROW(2, turn) + last * core[4];                                      \
            T total = never;                                                                       \
            if (length > 0) {                                                                      \
                const char *ends = ROW(1, turn) + (length - 1) * core[2];                          \
                const T final = ELEMENT(const T, ends, core[3], last);                             \
                const T label = last ? ELEMENT(const T, ends, core[3], last - 1) : never;          \
                total = v_logaddexp_##S(final, label);                                             \
            }                                                                                      \
            leaps_##S(room + n, back, -core[4], n, *(const npy_int64 *)ROW(5, turn));              \
            for (npy_intp frame = frames - 1; frame >= 0; frame--) {                               \
                char *out = ROW(8, turn) + frame * core[5];                                        \
                const char *given = ROW(0, turn) + frame * core[0];                                \
                if (frame >= length || !(total > never)) {                                         \
                    const T slope = (frame >= length ? 0 : impossible) * grad;                     \
                    for (npy_intp k = 0; k < c; k++) ELEMENT(T, out, core[6], k) = slope;          \
                    continue;                                                                      \
                }                                                                                  \
                pace_##S(seen, room, given, core[1], back, -core[4], n, frame == length - 1);      \
                gather((char *)own, ROW(1, turn) + frame * core[2], core[3], n, sizeof(T));        \
                IN_ANY_ORDER                                                                       \
                for (npy_intp i = 0; i < n; i++) {                                                 \
                    const T passed = own[last - i] + seen[i + 2] - emitted[i] - total;             \
                    shares[i] = passed != passed ? 0 : v_exp_##S(passed);                          \
                }                                                                                  \
                memset(used, 0, (size_t)c * sizeof(T));                                            \
                for (npy_intp i = n - 1; i >= 0; i--) {                                            \
                    used[ELEMENT(const npy_int64, back, -core[4], i)] += shares[i];                \
                }                                                                                  \
                gather((char *)row, given, core[1], c, sizeof(T));                                 \
                IN_ANY_ORDER                                                                       \
                for (npy_intp k = 0; k < c; k++) row[k] = (v_exp_##S(row[k]) - used[k]) * grad;    \
                scatter(out, core[6], (const char *)row, c, sizeof(T));                            \
            }                                                                                      \
        }                                                                                          \
        free(seen);                                                                                \
        forget_exceptions();                                                                       \
    }

PATHS(float, f32)
PATHS(double, f64)
