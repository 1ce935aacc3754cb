#include "codegen/reduction.h"
#include "codegen/scan.h"

/* What the elements of a step come to: in a thread, across the threads of a result, and with the
 * steps before.  Partial results are folded in the order of the walk, always the same one.  */

enum { WARP = 32 };

static Ir word(const Kernel *k, const char *text) { return text_index(k->cg, text, false); }
static const ReduceArrays met = {"met", IR_SHARED};

static void open_loop(Kernel *k, const char *var, int from, int to) {
    cg_line(k->cg, "#pragma unroll");
    cg_open(k->cg, "for (int %s = %d; %s < %d; %s++)", var, from, var, to, var);
}

static void fold(Kernel *k, const Partial *to, const Partial *from) {
    monoid_fold(k->cg, to, from->value, from->where, false);
}

/* ---- along ---- */

static Partial held(const Kernel *k, const char *stem, const char *lane) {
    return scan_partial(k, stem, text_index(k->cg, lane, false));
}

/* Pieces one behind the other: sum their values by lane, pre what comes before a lane's, run all.
 *  */
static void meet_vectors(Kernel *k, int lanes) {
    Cg *cg = k->cg;
    int vec = k->l->r->store_vec, vectors = scan_vectors(k);
    Partial sum = held(k, "sum", "u"), pre = held(k, "pre", "u");
    Partial run = scan_partial(k, "run", NULL);
    Partial end = held(k, "acc", cg_text(cg, "u * %d + %d", vec, vec - 1));
    const char *number = cg_text(cg, "tid %% %du", lanes);
    monoid_declare(cg, &sum, vectors);
    monoid_declare(cg, &pre, vectors);
    monoid_declare(cg, &run, 0);
    if (lanes > 1) cg_line(cg, "const int number = %s;", number);
    open_loop(k, "u", 0, vectors);
    scan_copy(k, &sum, &end);
    cg_close(cg);
    reduce_scan(cg, &sum, lanes, vectors, word(k, "number"));
    open_loop(k, "u", 0, vectors);
    scan_copy(k, &pre, &run);
    if (lanes > 1) {
        reduce_lane(cg, &pre, &sum, (IrOther){IR_LANE_BELOW, ir_int(cg, 1), lanes},
                    word(k, "number > 0"));
        reduce_lane(cg, &run, &sum, (IrOther){IR_LANE_NUMBER, ir_int(cg, lanes - 1), lanes},
                    NULL);
    } else {
        fold(k, &run, &sum);
    }
    cg_close(cg);
}

/* The warps of a result through shared memory: base what comes before a warp's.  */
static void meet_warps(Kernel *k, const Partial *base, const Partial *carry, int warps) {
    Cg *cg = k->cg;
    Partials run = monoid_pass(cg, k->l->p->group->columns, 0, "run", NULL);
    Partial all = scan_partial(k, "all", NULL);
    const char *from = cg_text(cg, "tid / %d * %d + number", warps * WARP, warps);
    cg_line(cg, "// the warps of a result");
    reduce_put(cg, &run, 0, word(k, "number == 0"), met, word(k, "tid / 32"));
    cg_line(cg, "__syncthreads();");
    monoid_declare(cg, &all, 0);
    cg_open(cg, "if (number < %d)", warps);
    cg_line(cg, "%s = met%s[%s];", text_of(cg, all.value), all.name, from);
    if (all.where) cg_line(cg, "%s = met_at%s[%s];", text_of(cg, all.where), all.name, from);
    cg_close(cg);
    reduce_scan(cg, &all, warps, 1, word(k, "number"));
    reduce_lane(cg, base, &all, (IrOther){IR_LANE_NUMBER, word(k, "max(lane / 32 - 1, 0)"), WARP},
                word(k, "lane >= 32"));
    if (carry)
        reduce_lane(cg, carry, &all, (IrOther){IR_LANE_NUMBER, ir_int(cg, warps - 1), WARP},
                    NULL);
}

/* acc[first + s * step] for s in 0..n-1, and what comes before them all.  */
static void apply(Kernel *k, const Partial *before, const char *first, int step, int n) {
    Cg *cg = k->cg;
    Partial x = held(k, "acc", cg_text(cg, "%s + s * %d", first, step));
    Partial last = held(k, "acc", cg_text(cg, "%s + (s - 1) * %d", first, step));
    Partial start = held(k, "acc", first);
    if (!scan_view(k)->of.exclusive) {
        open_loop(k, "s", 0, n);
        fold(k, &x, before);
        cg_close(cg);
        return;
    }
    if (n > 1) {
        cg_line(cg, "#pragma unroll");
        cg_open(cg, "for (int s = %d; s > 0; s--)", n - 1);
        scan_copy(k, &x, &last);
        fold(k, &x, before);
        cg_close(cg);
    }
    scan_copy(k, &start, before);
}

static void meet_along(Kernel *k, const Partial *carry) {
    Cg *cg = k->cg;
    int vec = k->l->r->store_vec, lanes = rprog_scan_lanes(k->l->p, k->l->r);
    int warps = rprog_scan_meets(k->l->p, k->l->r);
    Partial base = scan_partial(k, "base", NULL), own = scan_partial(k, "own", NULL);
    Partial run = scan_partial(k, "run", NULL), pre = held(k, "pre", "u");
    if (vec > 1) {
        Partial x = held(k, "acc", cg_text(cg, "u * %d + s", vec));
        Partial last = held(k, "acc", cg_text(cg, "u * %d + s - 1", vec));
        open_loop(k, "u", 0, scan_vectors(k));
        open_loop(k, "s", 1, vec);
        fold(k, &x, &last);
        cg_close(cg);
        cg_close(cg);
    }
    meet_vectors(k, lanes);
    monoid_declare(cg, &base, 0);
    if (carry) scan_copy(k, &base, carry);
    if (warps > 1) meet_warps(k, &base, carry, warps);
    else if (carry) fold(k, carry, &run);
    open_loop(k, "u", 0, scan_vectors(k));
    monoid_declare(cg, &own, 0);
    scan_copy(k, &own, &base);
    fold(k, &own, &pre);
    apply(k, &own, cg_text(cg, "u * %d", vec), 1, vec);
    cg_close(cg);
}

/* ---- down ---- */

/* The groups of a block through shared memory.  */
static void meet_groups(Kernel *k, int groups, bool carries) {
    Cg *cg = k->cg;
    const RowGroup *g = k->l->p->group->columns;
    int vec = k->l->r->store_vec, wide = k->l->r->block.extent[AX_M];
    int end = (scan_vectors(k) - 1) * vec;
    Partials last = monoid_pass(cg, g, 0, "acc", NULL);
    Partials base = monoid_pass(cg, g, 0, "base", text_index(cg, "v", false));
    Partials carry = monoid_pass(cg, g, 0, "carry", text_index(cg, "v", false));
    ReducePartial part = {met, NULL, word(k, cg_text(cg, "g * %d + col", wide))};
    if (end > 0) {
        Partial *x = &last.at[0];
        x->array = ir_add(cg, x->array, ir_int(cg, end));
        if (x->where) x->positions = ir_add(cg, x->positions, ir_int(cg, end));
    }
    cg_line(cg, "// the groups of the block");
    reduce_put(cg, &last, vec, NULL, met, word(k, cg_text(cg, "row * %d + col", wide)));
    cg_line(cg, "__syncthreads();");
    cg_line(cg, "#pragma unroll 1");
    cg_open(cg, "for (int g = 0; g < row; g++)");
    reduce_partial(cg, &base, vec, &part);
    cg_close(cg);
    if (!carries) return;
    cg_line(cg, "#pragma unroll 1");
    cg_open(cg, "for (int g = 0; g < %d; g++)", groups);
    reduce_partial(cg, &carry, vec, &part);
    cg_close(cg);
}

static void meet_down(Kernel *k, bool carries) {
    Cg *cg = k->cg;
    int vec = k->l->r->store_vec, deep = scan_vectors(k);
    int groups = rprog_threads_along(k->l->r, AX_N);
    Partial base = held(k, "base", "v"), carry = held(k, "carry", "v");
    Partial x = held(k, "acc", cg_text(cg, "u * %d + v", vec));
    Partial before = held(k, "acc", cg_text(cg, "(u - 1) * %d + v", vec));
    Partial end = held(k, "acc", cg_text(cg, "%d + v", (deep - 1) * vec));
    if (deep > 1) {
        open_loop(k, "u", 1, deep);
        open_loop(k, "v", 0, vec);
        fold(k, &x, &before);
        cg_close(cg);
        cg_close(cg);
    }
    monoid_declare(cg, &base, vec);
    if (carries) {
        open_loop(k, "v", 0, vec);
        scan_copy(k, &base, &carry);
        if (groups == 1) fold(k, &carry, &end);
        cg_close(cg);
    }
    if (groups > 1) meet_groups(k, groups, carries);
    open_loop(k, "v", 0, vec);
    apply(k, &base, "v", vec, deep);
    cg_close(cg);
}

void scan_meet(Kernel *k) {
    bool carries = scan_carries(k->l->p, k->l->r);
    Partial carry = scan_partial(k, "carry", NULL);
    if (scan_view(k)->down) meet_down(k, carries);
    else meet_along(k, carries ? &carry : NULL);
    cg_blank(k->cg);
}
