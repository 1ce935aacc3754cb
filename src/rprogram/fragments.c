/* How warps read the fragments of matrix units from shared memory, by the mapping in rprog.h.
 *
 * All matrices of 8 rows (all requests) of an operand have as many wavefronts as the first
 * one: they differ by whole chunks and by multiples of 8 rows, which rotates the banks or,
 * under a swizzle, flips the same bits of all rows.  */
#include "rprogram/matrix.h"

enum { MATRIX = 8, CHUNK = 16, FOUR = 4 };                /* rows of a matrix; bytes of each */

static int slices_of(const RProg *r) { return count_along(&r->warp, &r->thread, AX_K); }

/* Matrices of one slice.  */
static int matrices(const Problem *p, const Device *dev, const RProg *r, int side) {
    int bytes = r->thread.extent[AX_K] * rprog_elem(p, dev, r, side);
    return r->warp.extent[own_axis(side)] / MATRIX * (bytes / CHUNK);
}

static int tiles(const RProg *r, int side) {
    return count_along(&r->warp, &r->thread, own_axis(side));
}

/* Registers that a slice's fragments fill.  */
static int registers(const Device *dev, const RProg *r, int side) {
    return tiles(r, side) * rprog_unit_registers(dev, r, side);
}

int fragment_access(const Device *dev, const RProg *r, int side) {
    bool k_inner = r->load[side].layout.inner == AX_K;
    if (!rprog_matrix(dev, r)) return k_inner ? r->thread.extent[AX_K] : side ? r->vec_n : r->vec_m;
    Fragment f = rprog_fragment(dev, r, side);
    return fragment_run(&f, k_inner ? FRAG_COL : FRAG_ROW);
}

/* Accesses by which a lane reads a slice's fragments for itself.  */
static int accesses(const Device *dev, const RProg *r, int side) {
    Fragment f = rprog_fragment(dev, r, side);
    return tiles(r, side) * fragment_slots(&f, FRAG_DIMS) / fragment_access(dev, r, side);
}

/* Blocks of eight rows, of each of which a lane reads four k.  */
static int fours(const RProg *r, int side) { return r->warp.extent[own_axis(side)] / MATRIX; }

int matrix_at_once(const Problem *p, const Device *dev, const RProg *r, int side) {
    bool three_left = matrices(p, dev, r, side) % 4 == 3;
    return r->load[side].region && three_left ? 2 : 4;
}

int matrix_reads(const Problem *p, const Device *dev, const RProg *r, int side) {
    if (rprog_reads_fours(r, side)) return slices_of(r) * fours(r, side);
    if (!rprog_ldmatrix(p, dev, r, side)) return slices_of(r) * accesses(dev, r, side);
    int n = matrices(p, dev, r, side), most = matrix_at_once(p, dev, r, side);
    return slices_of(r) * (n / most + (n % most == 3 ? 2 : n % most > 0));
}

int64_t matrix_passes(const Problem *p, const Device *dev, const RProg *r, int side) {
    if (rprog_reads_fours(r, side)) return (int64_t)slices_of(r) * fours(r, side);
    if (!rprog_ldmatrix(p, dev, r, side)) return (int64_t)slices_of(r) * accesses(dev, r, side);
    return (int64_t)slices_of(r) * matrices(p, dev, r, side);
}

int fragment_read_bytes(const Problem *p, const Device *dev, const RProg *r, int side) {
    if (rprog_reads_fours(r, side)) return FOUR * rprog_elem(p, dev, r, side);
    if (rprog_ldmatrix(p, dev, r, side)) return CHUNK;
    return fragment_access(dev, r, side) * rprog_elem(p, dev, r, side);
}

int fragment_wavefronts(const Problem *p, const Device *dev, const RProg *r, int side) {
    const RLayout y = r->load[side].layout;
    bool k_inner = y.inner == AX_K, whole = rprog_ldmatrix(p, dev, r, side);
    int elem = rprog_elem(p, dev, r, side);
    int row = r->block.extent[k_inner ? AX_K : own_axis(side)];
    int32_t addr[WARP] = {0};
    Fragment f = rprog_fragment(dev, r, side);
    int step = rprog_reads_fours(r, side) ? FOUR / fragment_run(&f, FRAG_COL) : 1;
    int at[WARP][FRAG_DIMS];
    fragment_of_lanes(&f, 0, at);
    for (int lane = 0; lane < WARP; lane++) {
        int own = at[lane][FRAG_ROW], k = at[lane][FRAG_COL] * step;
        addr[lane] = whole ? rtile_at(y, row, elem, lane % MATRIX, 0)
                           : rtile_at(y, row, elem, k_inner ? own : k, k_inner ? k : own);
    }
    int width = fragment_read_bytes(p, dev, r, side);
    return rtile_wavefronts(addr, whole ? (1u << MATRIX) - 1 : UINT32_MAX, width);
}

/* A unit of bytes that is no faster than one of 16-bit elements converts its operands to those.  */
static bool converts(const Device *dev, const ComputeUnit *u) {
    if (te_dtype_bytes(u->a) != 1) return false;
    for (int i = 0; i < dev->n_unit; i++) {
        const ComputeUnit *x = &dev->unit[i];
        bool wider = x->scope == u->scope && x->a == TE_F16 && x->b == TE_F16;
        if (wider && x->acc == u->acc && x->rate.value >= u->rate.value) return true;
    }
    return false;
}

/* Registers: 10 (18 with more than two slices) + WM*WN/32 accumulators (8/3 times with partial
 * sums) + fragments of a slice (bytes at their size), twice if fetched ahead, once more if split,
 * once as 16 bits where they are bytes, once more where the unit converts bytes to 16 bits (it is
 * no faster than the unit of those), with more than two slices 5/3 times more + loads (as in
 * derive.c; converted chunks in both forms, + 24); at most 4 below the limit.
 *
 * Fitted to the smallest register limit at which compiled kernels do not spill: exact to 8 for
 * copied operands, a step more where a step has more slices, each with addresses of its own.  */
int64_t matrix_registers(const Problem *p, const Device *dev, const RProg *r) {
    enum { FIXED = 10, MANY_SLICES = 8, SINGLE_READS = 8 };
    const ComputeUnit *u = &dev->unit[r->unit];
    int64_t tiles = (int64_t)count_along(&r->warp, &r->thread, AX_M) *
                    count_along(&r->warp, &r->thread, AX_N);
    int64_t sums = tiles * rprog_unit_accumulators(dev, r) * te_dtype_bytes(u->acc) / 4;
    int64_t slice = 0, wide = 0, fixed = slices_of(r) > 2 ? FIXED + MANY_SLICES : FIXED;
    fixed += matrix_scale_registers(p, dev, r);
    for (int side = 0; side < p->n_operand; side++) {
        int words = rprog_elem(p, dev, r, side) > 4 ? 2 : 1, n = registers(dev, r, side);
        if (r->load[side].bytes) wide += n;
        slice += r->load[side].bytes ? n / 2 : (int64_t)n * words;
        if (!rprog_ldmatrix(p, dev, r, side)) fixed += SINGLE_READS;
    }
    if (rprog_promotes(p, dev, r)) sums += sums + sums * 2 / 3; /* partial sums, and on their way */
    int64_t copies = rprog_fetched_ahead(dev, r, 0) ? 2 : 1;
    if (rprog_products(p, dev, r) > 1) copies++;
    /* Of slices that are not fetched ahead, one is converted beside the products of another.  */
    if (wide > 0 && copies == 1 && slices_of(r) > 2) wide += slice + wide;
    if (!converts(dev, u)) return fixed + sums + copies * slice + wide;
    /* Of several slices, parts of the next one are converted before the last is done.  */
    return fixed + sums + (copies + 1) * slice + (slices_of(r) > 2 ? slice * 2 / 3 : 0);
}

int64_t matrix_load_registers(const Problem *p, const Device *dev, const RProg *r, int side,
                              int64_t chunks) {
    enum { PARTLY = 2, CONVERTING = 24, TABLE = 8, GROUP = 8 };
    const RLoad *l = &r->load[side];
    const ROperand *op = &p->op[side];
    int64_t elements = (int64_t)r->block.extent[own_axis(side)] * r->block.extent[AX_K];
    int64_t words = elements == chunks * l->vec * r->threads ? 0 : PARTLY;
    if (rprog_through_registers(l) && !rprog_copyable(p, dev, r, side)) {
        words += CONVERTING + chunks * ((l->vec * rprog_elem(p, dev, r, side) + 3) / 4);
    }
    /* What a group of chunks reads of a table.  */
    if (rprog_copies_chunks(l) && chunks > TABLE && (op->guarded || op->digits_mn > 1))
        words += GROUP;
    /* Many small chunks: their tests, and the positions of gathers.  */
    if (rprog_through_registers(l) && l->vec * op->bytes < 4) {
        words += chunks / 2;
        if ((op->digits_k > 1 || op->guarded) && chunks > TABLE) words += 2 * (chunks - TABLE);
    }
    return words;
}

int rprog_staging_run(const Problem *p, const Fragment *f) {
    int run = fragment_run(f, FRAG_COL), most = CHUNK / p->acc_bytes;
    return run < most ? run : most;
}

/* Where the first slot of each lane lies in the buffer.  */
static void staging_places(const Problem *p, const Fragment *f, RStaging s, int32_t addr[WARP]) {
    int bytes = p->acc_bytes;
    int chunk = CHUNK / bytes, at[WARP][FRAG_DIMS];
    fragment_of_lanes(f, 0, at);
    for (int lane = 0; lane < WARP; lane++) {
        int column = at[lane][FRAG_COL];
        if (s.half) column = column / chunk * s.half + column % chunk;
        addr[lane] = (rprog_staging_at(s, at[lane][FRAG_ROW]) + column) * bytes;
    }
}

int64_t rprog_staging_wavefronts(const Problem *p, const Device *dev, const RProg *r,
                               int64_t *loads) {
    const RStaging s = rprog_staging(p, dev, r);
    int bytes = p->acc_bytes;
    int line = rprog_staging_columns(dev, r) / r->store_vec;
    int chunks = line * rprog_staging_rows(dev, r), width = r->store_vec * bytes;
    int accesses = width > CHUNK ? width / CHUNK : 1;
    int32_t addr[WARP] = {0};
    int next = s.half ? s.half * bytes : CHUNK;
    Fragment f = rprog_results(dev, r);
    int tiles = r->warp.extent[AX_N] / r->thread.extent[AX_N], run = rprog_staging_run(p, &f);
    staging_places(p, &f, s, addr);
    int64_t stores = (int64_t)tiles * (fragment_slots(&f, FRAG_DIMS) / run) *
                     rtile_wavefronts(addr, UINT32_MAX, run * bytes);
    *loads = 0;
    for (int first = 0; first < chunks; first += WARP) {
        int n = chunks - first < WARP ? chunks - first : WARP;
        uint32_t active = n < WARP ? (1u << n) - 1 : UINT32_MAX;
        for (int access = 0; access < accesses; access++) {
            for (int lane = 0; lane < n; lane++) {
                int id = first + lane, step = s.half ? r->store_vec / 2 : r->store_vec;
                int at = rprog_staging_at(s, id / line) + id % line * step;
                addr[lane] = at * bytes + access * next;
            }
            *loads += rtile_wavefronts(addr, active, width < CHUNK ? width : CHUNK);
        }
    }
    return stores;
}
