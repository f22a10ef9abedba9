/* Products of matrices: a tile of eight rows and three vectors of columns keeps its sums in
 * registers while it goes along both, each of which lies side by side in panels.
 *
 * Each element is summed in one order, wherever its tile lies.
 */
#if defined(VECTOR) && VECTOR == 16
#define WIDEST (ABREAST * VECTOR)

typedef struct {
    npy_intp k;        /* elements of rows and columns that meet */
    const float *added; /* to each row of the result; NULL before the last elements */
    int more;          /* whether sums go on from what was there before */
} Meeting;

ALWAYS void product_tile(const float *rows, const float *columns, const Meeting *meeting,
                         float *out, npy_intp line, const int wide) {
    Vector total[FILTERS][ABREAST];
    for (int f = 0; f < FILTERS; f++) {
        for (int v = 0; v < wide; v++) {
            total[f][v] = V_ZERO;
            __builtin_prefetch(out + f * line + v * VECTOR, 1);
        }
    }
    for (npy_intp i = 0; i < meeting->k; i++, rows += FILTERS, columns += wide * VECTOR) {
        Vector met[ABREAST];
        for (int v = 0; v < wide; v++) met[v] = V_LOAD(columns + v * VECTOR);
        for (int f = 0; f < FILTERS; f++) {
            const Vector factor = V_REPEATED(rows[f]);
            for (int v = 0; v < wide; v++) {
                total[f][v] = V_ADDED_PRODUCT(factor, met[v], total[f][v]);
            }
        }
    }
    for (int f = 0; f < FILTERS; f++) {
        for (int v = 0; v < wide; v++) {
            float *to = out + f * line + v * VECTOR;
            Vector sum = total[f][v];
            if (meeting->more) sum = _mm512_add_ps(V_LOAD(to), sum);
            if (meeting->added) sum = _mm512_add_ps(sum, V_LOAD(meeting->added + v * VECTOR));
            V_STORE(to, sum);
        }
    }
}

static void product_part(const float *rows, const float *columns, const Meeting *meeting,
                         float *out, npy_intp line, npy_intp wide) {
    if (wide == WIDEST) product_tile(rows, columns, meeting, out, line, ABREAST);
    else if (wide == 2 * VECTOR) product_tile(rows, columns, meeting, out, line, 2);
    else product_tile(rows, columns, meeting, out, line, 1);
}

/* A tile of which some rows or columns are not in the result. */
static void product_edge(const float *rows, const float *columns, const Meeting *meeting,
                         float *out, npy_intp line, npy_intp wide, npy_intp r, npy_intp n) {
    float sums[FILTERS * WIDEST];
    const Meeting own = {meeting->k, NULL, 0};
    product_part(rows, columns, &own, sums, WIDEST, wide);
    for (npy_intp f = 0; f < FILTERS && f < r; f++) {
        for (npy_intp j = 0; j < wide && j < n; j++) {
            float *to = out + f * line + j, sum = sums[f * WIDEST + j];
            if (meeting->more) sum = *to + sum;
            *to = meeting->added ? sum + meeting->added[j] : sum;
        }
    }
}

/* Rows side by side by eight, zeros where there are no further ones. */
static void lay_rows(const char *from, npy_intp down, npy_intp right, npy_intp r, npy_intp k,
                     float *to) {
    const npy_intp whole = down == 4 ? r / FILTERS * FILTERS : 0; /* those lie so in memory */
    for (npy_intp i = 0; whole && i < k; i++) {
        for (npy_intp top = 0; top < whole; top += FILTERS) {
            STORE_EIGHT(to + top * k + i * FILTERS, LOAD_EIGHT(from + top * 4 + i * right));
        }
    }
    for (npy_intp top = whole; top < r; top += FILTERS) {
        const char *first = from + top * down;
        float *panel = to + top * k;
        const npy_intp rows = r - top < FILTERS ? r - top : FILTERS;
        npy_intp i = 0;
        for (; rows == FILTERS && right == 4 && i + EIGHT <= k; i += EIGHT) {
            Lanes square[EIGHT];
            for (int f = 0; f < EIGHT; f++) square[f] = LOAD_EIGHT(first + f * down + i * 4);
            turn_square(square);
            for (int f = 0; f < EIGHT; f++) STORE_EIGHT(panel + (i + f) * FILTERS, square[f]);
        }
        for (; i < k; i++) {
            for (npy_intp f = 0; f < FILTERS; f++) {
                const float *element = (const float *)(first + f * down + i * right);
                panel[i * FILTERS + f] = f < rows ? *element : 0;
            }
        }
    }
}

/* Blocks of rows times all columns, which end with zeros; `more` says whether sums go on from what
 * was there before, and `last` whether something is added to each row. */
static void product_f32(char **args, const npy_intp *dimensions, const npy_intp *steps,
                        void *data) {
    const npy_intp r = dimensions[1], k = dimensions[2], all = dimensions[3] / k;
    const npy_intp n = dimensions[4], line = steps[10] / 4;
    float *rows = malloc((size_t)((r + FILTERS) * k) * sizeof(float));
    if (rows == NULL) {
        no_memory();
        return;
    }
    for (npy_intp turn = 0; turn < dimensions[0]; turn++) {
        const int more = *(const float *)ROW(3, turn) != 0, last = *(const float *)ROW(4, turn) != 0;
        lay_rows(ROW(0, turn), steps[6], steps[7], r, k, rows);
        for (npy_intp left = 0; left < all; left += WIDEST) {
            const npy_intp wide = all - left < WIDEST ? all - left : WIDEST;
            const float *columns = (const float *)ROW(1, turn) + left * k;
            const Meeting meeting = {k, last ? (const float *)ROW(2, turn) + left : NULL, more};
            for (npy_intp top = 0; top < r; top += FILTERS) {
                float *out = (float *)ROW(5, turn) + top * line + left;
                if (top + FILTERS <= r && left + wide <= n) {
                    product_part(rows + top * k, columns, &meeting, out, line, wide);
                } else {
                    product_edge(rows + top * k, columns, &meeting, out, line, wide, r - top,
                                 n - left);
                }
            }
        }
    }
    free(rows);
    forget_exceptions();
}
#endif
