#include "codegen/lower.h"

static const char *const phase_name[PHASE_COUNT] = {
#define X(id, name) name,
    CG_PHASES(X)
#undef X
};
static const char *const kernel_name[] = {"contract", "sums",    "stream",         "column",
                                          "column sums", "window", "permute", "values of rows",
                                          "row"};

static void print_address(const Contract *c, const Side *s, Buf *out) {
    static const char *const mode[] = {"plain", "uniform digits", "digits per chunk"};
    buf_printf(out, "%c: %d x %d elements along %s, %s", s->id, s->per_thread, s->l->vec,
               s->l->along == AX_K ? "k"
               : s->side           ? "n"
                                   : "m",
               !s->copies   ? "expression"
               : s->pointer ? "one pointer"
                            : "offsets");
    if (s->copies && !s->pointer)
        buf_printf(out, ", k by %s", s->table ? "tables" : mode[s->k_mode]);
    if (c->own_ragged[s->side]) buf_puts(out, ", ragged");
    if (s->copies && s->f->guarded) buf_puts(out, ", guarded");
}

static void print_region(const Side *s, Buf *out) {
    buf_printf(out, "%c: %d lines of %d elements, gathered %d at once", s->id,
               (int)s->region.lines, (int)s->region.row, s->region.pair);
}

static void print_load(const Contract *c, int ahead, Buf *out) {
    int n = 0;
    for (int i = 0; i < 2; i++) {
        const Side *s = &c->side[i];
        if (!s->present || s->l->region) continue;
        buf_printf(out, "%s%c %s %d B", n++ ? ", " : "", s->id,
                   s->l->kind == LOAD_ASYNC ? "async" : "staged", s->l->vec * s->f->bytes);
    }
    if (ahead) buf_printf(out, ", step + %d", ahead);
}

static bool is_view(const Lowered *l) {
    return l->kind == KERNEL_COLUMN || l->kind == KERNEL_COLUMN_SUMS || l->kind == KERNEL_WINDOW;
}

static void print_window_rows(const Lowered *l, const Phase *ph, Buf *out) {
    buf_printf(out, "%d", ph->stmt);
    for (int i = 0; i < l->p->window.n_source; i++)
        buf_printf(out, ", %lld rows of %lld x %d elements",
                   (long long)rprog_window_rows(l->p, l->r, i),
                   (long long)rprog_window_loads(l->p, l->r, i),
                   rprog_window_width(l->p, l->r, i));
}

/* Column and window kernels.  */
static void print_view_details(const Lowered *l, const Phase *ph, Buf *out) {
    const RProg *r = l->r;
    bool column = l->kind == KERNEL_COLUMN;
    switch (ph->kind) {
    case PHASE_PLACE:
        if (column)
            buf_printf(out, "%d x %d columns, %d row groups", rprog_column_threads(r, AX_M),
                       (int)r->thread.extent[AX_M], rprog_column_threads(r, AX_K));
        else
            buf_printf(out, "patches of %d x %d x %d", (int)r->thread.extent[AX_M],
                       (int)r->thread.extent[AX_N], l->p->window.lane < 0 ? 1 : r->vec_n);
        break;
    case PHASE_FOLD:
        if (column)
            buf_printf(out, "%d, %d rows in flight", ph->stmt, (int)r->thread.extent[AX_K]);
        else
            print_window_rows(l, ph, out);
        break;
    case PHASE_REDUCE: buf_printf(out, "%d row groups", rprog_column_threads(r, AX_K)); break;
    case PHASE_PARTIAL:
    case PHASE_GATHER: buf_printf(out, "%d slices", (int)r->split); break;
    case PHASE_ELEMENTS: buf_printf(out, "%d at a time", l->vec); break;
    case PHASE_STATEMENT: buf_printf(out, "%d", ph->stmt); break;
    default: break;
    }
}

static void print_permute_details(const Lowered *l, const Phase *ph, Buf *out) {
    const RProg *r = l->r;
    switch (ph->kind) {
    case PHASE_PLACE:
        buf_puts(out, "boxes of");
        for (int a = 0; a < l->p->permute.out.n_digit; a++)
            buf_printf(out, " %d", (int)r->block.extent[a]);
        break;
    case PHASE_FILL:
        buf_printf(out, "source %d, %lld elements, %d at a time", ph->side,
                   (long long)rprog_permute_part(l->p, r, ph->side), r->load[ph->side].vec);
        break;
    case PHASE_WAIT: buf_puts(out, "barrier"); break;
    case PHASE_ELEMENTS: buf_printf(out, "%d at a time", l->vec); break;
    case PHASE_STATEMENT: buf_printf(out, "%d", ph->stmt); break;
    default: break;
    }
}

static void print_details(const Lowered *l, const Contract *c, const Phase *ph, const Device *dev,
                          Buf *out) {
    const RProg *r = l->r;
    switch (ph->kind) {
    case PHASE_PLACE:
        buf_printf(out, "tile %dx%d, warps %dx%dx%d, %s %dx%d", (int)r->block.extent[AX_M],
                   (int)r->block.extent[AX_N], c->warps[AX_M], c->warps[AX_N], c->warps[AX_K],
                   c->matrix.used ? "instructions" : "lanes", c->lanes[AX_M], c->lanes[AX_N]);
        break;
    case PHASE_REGION: print_region(&c->side[ph->side], out); break;
    case PHASE_ADDRESS: print_address(c, &c->side[ph->side], out); break;
    case PHASE_CLEAR:
        if (c->matrix.used)
            buf_printf(out, "%dx%dx%d %s", c->matrix.tiles[AX_M], c->matrix.tiles[AX_N],
                       c->matrix.accumulators, te_dtype_name(c->matrix.unit->acc));
        else
            buf_printf(out, "%dx%d %s", (int)r->thread.extent[AX_M], (int)r->thread.extent[AX_N],
                       te_dtype_name(l->p->con.acc));
        break;
    case PHASE_FILL:
        buf_printf(out, "%d of %d stages: ", c->ahead_steps, r->stages);
        print_load(c, 0, out);
        break;
    case PHASE_STEPS:
        buf_printf(out, "%lld of k %d", (long long)c->slice, (int)r->block.extent[AX_K]);
        break;
    case PHASE_LOAD: print_load(c, c->ahead_steps, out); break;
    case PHASE_BODIES: buf_printf(out, "%d of k %d", c->bodies, r->unroll); break;
    case PHASE_COMPUTE:
        buf_printf(out, "%s k %d..%d", dev->unit[r->unit].name, ph->from, ph->to - 1);
        break;
    case PHASE_WAIT:
        if (c->async) buf_printf(out, "at most %d groups in flight, ", c->ahead_steps - 1);
        buf_puts(out, "barrier");
        break;
    case PHASE_REDUCE: buf_printf(out, "%d slices", c->warps[AX_K]); break;
    case PHASE_SEGMENTS:
        buf_printf(out, "the last %d tiles by %d blocks of %lld steps", (int)r->tail,
                   (int)r->units, (long long)rprog_unit_steps(l->p, r));
        break;
    case PHASE_PARTIAL:
    case PHASE_GATHER:
        if (r->tail > 0) buf_puts(out, "units of the tail");
        else buf_printf(out, "%d slices", (int)r->split);
        break;
    case PHASE_WALK:
    case PHASE_FINISH:
    case PHASE_LEAVE:
    case PHASE_COMBINE:
        buf_printf(out, "pass %d%s", ph->from, r->stats && ph->to ? ", tied" : "");
        break;
    case PHASE_ROWS:
        if (r->stats) {
            buf_puts(out, r->stats == STATS_PARTS ? "parts of their columns" : "all columns");
            break;
        }
        buf_printf(out, "%d of %d threads, steps of %d columns", (int)r->block.extent[AX_M],
                   rprog_row_threads(r), (int)r->block.extent[AX_N]);
        break;
    case PHASE_ELEMENTS:
        buf_printf(out, "%d at a time%s", l->vec,
                   c->matrix.piece ? ", through shared memory" : "");
        break;
    case PHASE_SUMS: buf_puts(out, te_dtype_name(l->p->con.acc)); break;
    case PHASE_STATEMENT:
    case PHASE_FOLD: buf_printf(out, "%d", ph->stmt); break;
    default: break;
    }
}

static bool opens(PhaseKind k) {
    return k == PHASE_SEGMENTS || k == PHASE_WHOLE || k == PHASE_STEPS || k == PHASE_BODIES ||
           k == PHASE_LAST || k == PHASE_ELEMENTS;
}

void lower_print(const Device *dev, const Lowered *l, Buf *out) {
    const KernelLaunch *n = &l->launch;
    Contract c = {0};
    if (l->kind == KERNEL_CONTRACT || l->kind == KERNEL_SUMS)
        contract_facts(l->p->te, dev, l->p, l->r, &c);
    buf_printf(out, "kernel %s: group %d, grid %lld %lld, block %d, shared memory %lld\n",
               kernel_name[l->kind], l->group, (long long)n->grid[0], (long long)n->grid[1],
               n->block[0], (long long)n->dynamic_smem);
    int depth = 1;
    for (int i = 0; i < l->n_phase; i++) {
        const Phase *ph = &l->phase[i];
        if (ph->kind == PHASE_END || ph->kind == PHASE_AGAIN) {
            depth--;
            continue;
        }
        buf_printf(out, "%*s%s", 2 * depth, "", phase_name[ph->kind]);
        size_t len = out->len;
        buf_putc(out, ' ');
        if (is_view(l)) print_view_details(l, ph, out);
        else if (l->kind == KERNEL_PERMUTE) print_permute_details(l, ph, out);
        else print_details(l, &c, ph, dev, out);
        if (out->len == len + 1) out->text[--out->len] = '\0';
        buf_putc(out, '\n');
        depth += opens(ph->kind);
    }
}
