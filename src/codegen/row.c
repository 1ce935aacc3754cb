#include "codegen/reduction.h"
#include "codegen/row.h"
#include "codegen/sizes.h"
#include <string.h>

/* Kernels of row groups: which rows a block has, where they lie, and what is kept of them.
 *
 * Names in the text: M N rows and columns, BM rows of a block, LN threads of a row, BN columns of a
 * step, TN of them a thread's, VN columns at once; m the row, `row` the one it is read as, lane the
 * thread's number in its row; p sources, q outputs and h kept rows as pointers, r values of slices,
 * by number.  Where rows have ends, their vectors are the `body` columns from column head on, which
 * is the first that is aligned, skip elements before the row another would be.  */

static const RowFacts *facts(const Kernel *k) { return rprog_row_facts(k->l->p, k->l->r); }

static const TeStmt *frame_of(const Kernel *k) {
    return &k->cg->te->stmt[facts(k)->group->frame];
}

bool row_ragged(const Kernel *k) {
    return index_ragged(&k->l->map, 0);
}

/* A row that may have no columns at run time ends within a step unless a loop counts its steps.  */
bool row_ends_within(const Kernel *k) {
    if (index_ragged(&k->l->map, 1)) return true;
    return !row_loops(k) && row_columns(k).min == 0;
}

TeExtent row_columns(const Kernel *k) {
    return index_extent(k->cg->arena, &k->l->map, 1);
}

/* The columns of a row or a slice are more than one step.  */
bool row_loops(const Kernel *k) {
    return k->l->r->split > 1 || k->l->p->extent[AX_N] > k->l->r->block.extent[AX_N];
}

bool row_wide(const Kernel *k) {
    return place_wide(k->l->p->extent[AX_N], 2 * (int64_t)k->l->r->block.extent[AX_N]);
}

bool row_ends(const Kernel *k) { return rprog_row_ends(k->l->p, k->l->r); }

/* The part of an offset that the rows make, as text.  */
static const char *row_offset(const Kernel *k, const Access *x) {
    const TeStmt *frame = frame_of(k);
    const Affine *f = &x->offset;
    const char *sum = text_offset_of(k->cg, x, 0, NULL);
    for (int i = 0; i < frame->n_left; i++) {
        if (f->coef[i] == 0 || frame->index[i].hi.value <= 1) continue;
        const char *term = x->varies >> i & 1
                               ? cg_text(k->cg, "(long long)%s * %s",
                                         text_of(k->cg, k->at.index[i]), text_stride(k->cg, x, i))
                               : cg_text(k->cg, "%s * %lldll", text_of(k->cg, k->at.index[i]),
                                         (long long)f->coef[i]);
        sum = sum ? cg_text(k->cg, "%s + %s", sum, term) : term;
    }
    return sum;
}

void row_write(const Kernel *k, int i, Access *x) {
    const RowGroup *g = facts(k)->group;
    const TeStmt *s = &k->cg->te->stmt[g->stmt[i]];
    access_write(k->cg->te, s, x);
    rtile_row_access(g->axis[i], s->n_index, x);
}

static void pointers(Kernel *k) {
    Cg *cg = k->cg;
    const RowFacts *f = facts(k);
    const RowGroup *g = f->group;
    for (int n = 0; n < f->n_source; n++) {
        const RowSource *s = &f->source[n];
        const char *at = row_offset(k, &s->access);
        cg_line(cg, "const %s *const p%d = %s%s%s;", cg_storage(cg->te->tensor[s->tensor].dtype),
                n, text_tensor(cg, s->tensor), at ? " + " : "", at ? at : "");
    }
    for (int i = 0; i < g->n; i++) {
        int t = cg->te->stmt[g->stmt[i]].tensor;
        if (g->role[i] != ROW_MAP || !elements_in_memory(k, t)) continue;
        Access x;
        row_write(k, i, &x);
        const char *at = row_offset(k, &x);
        cg_line(cg, "%s *const %s = %s%s%s;", cg_storage(cg->te->tensor[t].dtype),
                cg_name(cg, "q", t), text_tensor(cg, t), at ? " + " : "", at ? at : "");
    }
}

/* Where the vectors of a row begin, and how many columns they have.  */
static void body(Kernel *k) {
    Cg *cg = k->cg;
    const char *at = row_offset(k, &facts(k)->peel), *type = place_type(row_wide(k));
    if (!row_ends(k)) return;
    cg_line(cg, "const int skip = (int)(%s) & (VN - 1);", at ? at : "0");
    cg_line(cg, "const int head = %s;",
            row_wide(k) ? "(int)min((long long)(-skip & (VN - 1)), (long long)N)"
                        : "min(-skip & (VN - 1), N)");
    cg_line(cg, "const %s body = (N - head) & -VN;", type);
}

void row_constants(Kernel *k) {
    Cg *cg = k->cg;
    const Problem *p = k->l->p;
    const RProg *r = k->l->r;
    TeExtent rows = index_extent(cg->arena, &k->l->map, 0);
    TeExtent columns = row_columns(k);
    cg_line(cg, "%s %s M = %s;", rows.expr ? "const" : "constexpr",
            place_type(p->extent[AX_M] > INT32_MAX), text_number(cg, rows));
    cg_line(cg, "%s %s N = %s;", columns.expr ? "const" : "constexpr",
            place_type(p->extent[AX_N] > INT32_MAX), text_number(cg, columns));
    cg_line(cg, "constexpr int BM = %d, LN = %d;  // rows of a block, threads of a row",
            (int)r->block.extent[AX_M], rprog_row_threads(r));
    cg_line(cg, "constexpr int BN = %d, TN = %d, VN = %d;  // columns of a step, a thread, at once",
            (int)r->block.extent[AX_N], (int)r->thread.extent[AX_N], r->store_vec);
    if (r->keep == KEEP_SHARED || r->keep == KEEP_FLAT)
        kernel_smem(k, 128);
}

void row_known(Kernel *k, int pass, bool stores) {
    reduction_values(k, facts(k)->group, pass,
                     text_index(k->cg,
                                cg_text(k->cg, "lane == 0%s%s", row_ragged(k) ? " && m < M" : "",
                                        k->l->launch.grid[1] > 1 ? " && blockIdx.y == 0" : ""),
                                false),
                     NULL, stores);
}

void row_place(Kernel *k, bool stores) {
    Cg *cg = k->cg;
    const TeStmt *frame = frame_of(k);
    const Problem *p = k->l->p;
    bool wide = place_wide(p->extent[AX_M], k->l->r->block.extent[AX_M]);
    const char *type = place_type(wide);
    int lanes = rprog_row_threads(k->l->r);
    cg_line(cg, "// rows");
    cg_line(cg, "const int tid = threadIdx.x, lane = tid %% %du;", lanes);
    cg_line(cg, "const %s m = (%s)blockIdx.x * BM + tid / %du;", type, type, lanes);
    if (row_ragged(k)) cg_line(cg, "const %s row = min(m, M - 1);", type);
    place_axis(k, 0, text_index(k->cg, row_ragged(k) ? "row" : "m", wide), wide, k->at.index,
               k->at.wide);
    pointers(k);
    body(k);
    for (int i = frame->n_left; i < frame->n_index; i++) k->at.index[i] = ir_int(k->cg, 0);
    if (k->l->r->split > 1) {
        const char *steps = place_type(row_wide(k));
        TeExtent all = index_tiles(cg->arena, &k->l->map, 1);
        TeExtent slice = index_slice_steps(cg->arena, &k->l->map, 1, k->l->r->split);
        cg_line(cg, "const %s first = (%s)blockIdx.y * %s, steps = min(first + %s, (%s)%s);",
                steps, steps, text_number(cg, slice), text_number(cg, slice), steps,
                text_number(cg, all));
    } else if (row_loops(k)) {
        TeExtent all = index_tiles(cg->arena, &k->l->map, 1);
        cg_line(cg, "%s %s first = 0, steps = %s;", all.expr ? "const" : "constexpr",
                place_type(row_wide(k)), text_number(cg, all));
    }
    row_known(k, -1, stores);
    cg_blank(cg);
}

/* ---- kept in shared memory ---- */

static void copy_row(Kernel *k, int n, int width, bool async) {
    Cg *cg = k->cg;
    const RowSource *s = &facts(k)->source[n];
    const char *step = s->step == 1 ? "" : cg_text(cg, " * %lld", (long long)s->step);
    const char *at = width == 1 ? "" : cg_text(cg, " + f * %d", width);
    int accesses = k->l->r->store_vec / width;
    cg_line(cg, "#pragma unroll 4");
    if (row_ends(k)) {
        cg_open(cg, "for (int at = lane * VN; %sat < body; at += LN * VN)",
                row_ragged(k) ? "m < M && " : "");
        cg_line(cg, "const int col = head + at;");
    } else {
        cg_open(cg, "for (int col = lane * VN; %scol < N; col += LN * VN)",
                row_ragged(k) ? "m < M && " : "");
    }
    if (width > 1 && accesses > 1) {
        cg_line(cg, "#pragma unroll");
        cg_open(cg, "for (int f = 0; f < %d; f++)", accesses);
    } else if (width == 1 && accesses > 1) {
        cg_line(cg, "#pragma unroll");
        cg_open(cg, "for (int f = 0; f < %d; f++)", accesses);
        at = " + f";
    } else {
        at = "";
    }
    const char *from = *at && s->step != 1 ? cg_text(cg, "(col%s)%s", at, step)
                                           : cg_text(cg, "col%s%s", at, step);
    if (async)
        cg_line(cg, "rl_cp_async_%d(rl_shared(h%d + col%s), p%d + %s, true);", width * s->bytes, n,
                at, n, from);
    else if (width == 1) cg_line(cg, "h%d[col%s] = p%d[%s];", n, at, n, from);
    else
        cg_line(cg, "rl_store<%d>(h%d + col%s, rl_load<%d>(p%d + %s).v);", width, n, at, width, n,
                from);
    if (accesses > 1) cg_close(cg);
    cg_close(cg);
}

/* The rows of the block as one range: whole vectors, and what is left of the last block.  */
static void copy_range(Kernel *k, int n, bool async) {
    enum { BYTES = RTILE_ACCESS };
    Cg *cg = k->cg;
    const RowSource *s = &facts(k)->source[n];
    int vec = BYTES / s->bytes, threads = k->l->launch.block[0];
    const char *c = s->access.offset.c ? cg_text(cg, " + %lld", (long long)s->access.offset.c) : "";
    cg_scope(cg);
    cg_line(cg, "const %s *const from = %s + (long long)blockIdx.x * (BM * N)%s;",
            cg_storage(cg->te->tensor[s->tensor].dtype), text_tensor(cg, s->tensor), c);
    cg_line(cg, "%s *const to = h%d - tid / LN * N;", cg_storage(cg->te->tensor[s->tensor].dtype),
            n);
    if (row_ragged(k))
        cg_line(cg, "const int live = (int)min((M - (long long)blockIdx.x * BM) * N, "
                "(long long)(BM * N));");
    else cg_line(cg, "constexpr int live = BM * N;");
    cg_line(cg, "#pragma unroll 4");
    cg_line(cg, "for (int at = tid * %d; at <= live - %d; at += %d)", vec, vec, threads * vec);
    if (async) cg_line(cg, "    rl_cp_async_16(rl_shared(to + at), from + at, true);");
    else cg_line(cg, "    rl_store<%d>(to + at, rl_load<%d>(from + at).v);", vec, vec);
    if (row_ragged(k) && vec > 1)
        cg_line(cg, "for (int at = live - live %% %d + tid; at < live; at += %d) "
                "to[at] = from[at];", vec, threads);
    cg_close(cg);
}

void row_hold(Kernel *k, const Node *x) {
    Cg *cg = k->cg;
    const RowFacts *f = facts(k);
    const RowSource *s = &f->source[x->of];
    const char *type = cg_storage(cg->te->tensor[s->tensor].dtype);
    const Room *room = rprog_room(k->l->layout, ROOM_ROWS, x->of);
    bool flat = k->l->r->keep == KEEP_FLAT;
    cg_line(cg, "%s *const h%d = reinterpret_cast<%s *>(smem + %lld) + tid / LN * %lld%s;", type,
            x->of, type, (long long)room->at, (long long)room->row / s->bytes,
            row_ends(k) ? " + skip" : "");
    if (s->made) return;
    if (flat) copy_range(k, x->of, x->mover >= 0);
    else copy_row(k, x->of, rprog_row_copy_width(k->l->p, k->l->r, x->of), x->mover >= 0);
}
