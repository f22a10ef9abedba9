/* A function of one float by a table of polynomials: adjoint/backends/pieces.py makes the tables.
 *
 * The upper 16 bits of a number (sign, exponent, seven digits) say which piece it lies in; its place
 * is counted from the middle of that, exactly. The last row is NaN, and for whatever lies elsewhere.
 */
#define TERMS_OF_PIECE 5

WHOLE static void in_pieces(const float *table, uint32_t first, uint32_t half, float *block,
                            npy_intp count) {
    IN_ANY_ORDER
    for (npy_intp i = 0; i < count; i++) {
        const uint32_t bits = v_bits_f32(block[i]);
        const uint32_t place = ((bits & 0x7fffffffu) >> 16) - first;
        const uint32_t own = place + (bits >> 31) * half;
        const int32_t row = TERMS_OF_PIECE * (int32_t)(place < half ? own : 2 * half);
        const float t = block[i] - v_real_f32((bits & 0xffff0000u) | 0x8000u);
        float sum = table[row + 4];
        sum = sum * t + table[row + 3];
        sum = sum * t + table[row + 2];
        sum = sum * t + table[row + 1];
        block[i] = sum * t + table[row];
    }
}

/* The table lies in order, and is the same for all rows of numbers. */
static void pieces_f32(char **args, const npy_intp *dimensions, const npy_intp *steps,
                       void *data) {
    const uint32_t first = v_bits_f32(*(const float *)args[2]) >> 16;
    const uint32_t half = (uint32_t)(dimensions[2] - 1) / 2;
    float block[BLOCK];
    for (npy_intp turn = 0; turn < dimensions[0]; turn++) {
        const char *from = args[0] + turn * steps[0];
        char *to = args[3] + turn * steps[3];
        for (npy_intp start = 0; start < dimensions[1]; start += BLOCK) {
            const npy_intp left = dimensions[1] - start, count = left < BLOCK ? left : BLOCK;
            gather((char *)block, from + start * steps[4], steps[4], count, sizeof(float));
            in_pieces((const float *)args[1], first, half, block, count);
            scatter(to + start * steps[7], steps[7], (char *)block, count, sizeof(float));
        }
    }
    forget_exceptions();
}
