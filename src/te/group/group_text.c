/* The text of a kernel group, or of a part of an op: all that decides about its kernels, whatever
 * names it has.  */
#include "te/access/access.h"
#include <inttypes.h>
#include <string.h>

/* Marks the statements whose tensors other groups read.  */
static void find_stored(const Te *te, const KernelGroup *groups, int n, bool *stored) {
    int home[TE_MAX_STMTS], maker[TE_MAX_TENSORS];
    for (int i = 0; i < te->n_stmt; i++) home[i] = -1;
    for (int t = 0; t < te->n_tensor; t++) maker[t] = -1;
    for (int k = 0; k < n; k++) {
        home[groups[k].root] = k;
        for (int i = 0; i < groups[k].n_fused; i++) home[groups[k].fused[i]] = k;
    }
    for (int i = 0; i < te->n_stmt; i++) {
        maker[te->stmt[i].tensor] = i;
        stored[i] = !te_is_passing(&te->tensor[te->stmt[i].tensor]);
    }
    for (int i = 0; i < te->n_stmt; i++) {
        ReadList reads = access_reads(te->stmt[i].rhs);
        for (int j = 0; j < reads.n; j++) {
            int made = maker[reads.at[j]->v.ref];
            if (made >= 0 && home[made] != home[i]) stored[made] = true;
        }
    }
}

/* An op whose tensors and indices have numbers for names: those of the tensors by their first
 * appearance in a group.  */
typedef struct {
    Arena *a;
    Te te;
    const char *index[TE_MAX_INDICES];
    int n_named;
} Nameless;

static void open_nameless(Arena *a, const Te *te, Nameless *x) {
    *x = (Nameless){.a = a, .te = *te};
    x->te.tensor = ARENA_ARRAY(a, TeTensor, te->n_tensor);
    memcpy(x->te.tensor, te->tensor, (size_t)te->n_tensor * sizeof *te->tensor);
    for (int t = 0; t < te->n_tensor; t++) x->te.tensor[t].name = NULL;
    for (int i = 0; i < TE_MAX_INDICES; i++) x->index[i] = arena_printf(a, "i%d", i);
}

static void name_tensor(Nameless *x, int t) {
    TeTensor *tensor = &x->te.tensor[t];
    if (tensor->name) return;
    tensor->name = arena_printf(x->a, "T%d_%s", x->n_named++, te_dtype_name(tensor->dtype));
}

static void name_scalars(Nameless *x, const TeExpr *e) {
    if (e->kind == TE_SCALAR) name_tensor(x, e->v.ref);
    for (int i = 0; i < e->n_args; i++) name_scalars(x, e->args[i]);
    if (e->other) name_scalars(x, e->other);
}

static void name_statement(Nameless *x, int stmt, bool names) {
    const TeStmt *s = &x->te.stmt[stmt];
    ReadList reads = access_reads(s->rhs);
    if (names) name_tensor(x, s->tensor);
    else x->te.tensor[s->tensor].name = NULL;
    for (int i = 0; i < reads.n; i++) {
        if (names) name_tensor(x, reads.at[i]->v.ref);
        else x->te.tensor[reads.at[i]->v.ref].name = NULL;
    }
    if (names) name_scalars(x, s->rhs);
}

static void name_group(Nameless *x, const KernelGroup *g, bool names) {
    x->n_named = 0;
    name_statement(x, g->root, names);
    for (int i = 0; i < g->n_fused; i++) name_statement(x, g->fused[i], names);
}

/* Texts are made for every way to part the op: no printf.  */
static void print_number(int64_t v, Buf *out) {
    char digits[24], *at = digits + sizeof digits;
    uint64_t rest = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    do *--at = (char)('0' + rest % 10);
    while (rest /= 10);
    if (v < 0) *--at = '-';
    *--at = ' ';
    buf_add(out, at, (size_t)(digits + sizeof digits - at));
}

/* One that is known at run time is not the same as another of the same range.  */
static void print_extents(const Te *te, const TeExtent *e, int n, Buf *out) {
    for (int i = 0; i < n; i++) {
        print_number(e[i].value, out);
        print_number(e[i].min, out);
        print_number(e[i].multiple, out);
        if (!e[i].expr) continue;
        buf_putc(out, ' ');
        te_print_expr(te, NULL, e[i].expr, out);
    }
}

static void print_tensor(const Te *te, int tensor, Buf *out) {
    const TeTensor *t = &te->tensor[tensor];
    buf_puts(out, t->name);
    print_number(t->role, out);
    buf_puts(out, te_dtype_name(t->dtype));
    print_extents(te, t->shape, t->rank, out);
    print_extents(te, t->stride, t->rank, out);
    buf_putc(out, '\n');
}

static void print_stmt(const Nameless *x, int stmt, bool stored, Buf *out) {
    const Te *te = &x->te;
    TeStmt s = te->stmt[stmt];
    for (int i = 0; i < s.n_index; i++) {
        s.index[i].name = x->index[i];
        s.index[i].where = false;         /* it is printed for all that have an extent, below */
    }
    te_print_stmt(te, &s, out);
    for (int i = 0; i < s.n_index; i++) print_extents(te, &s.index[i].hi, 1, out);
    buf_puts(out, stored ? "\nstored " : "\n");
    print_tensor(te, s.tensor, out);
    ReadList reads = access_reads(s.rhs);
    for (int i = 0; i < reads.n; i++) {
        print_number(reads.at[i]->inside, out);
        buf_putc(out, ' ');
        print_tensor(te, reads.at[i]->v.ref, out);
    }
}

void access_group_texts(Arena *a, const Te *te, const KernelGroup *groups, int n,
                        const char **text) {
    bool stored[TE_MAX_STMTS];
    Nameless x;
    find_stored(te, groups, n, stored);
    open_nameless(a, te, &x);
    for (int k = 0; k < n; k++) {
        const KernelGroup *g = &groups[k];
        Buf out = buf_new(a);
        name_group(&x, g, true);
        buf_puts(&out, g->row     ? "row\n"
                       : g->stats ? "stats\n"
                       : g->chain ? "chain\n"
                                  : "\n");
        print_stmt(&x, g->root, stored[g->root], &out);
        for (int i = 0; i < g->n_fused; i++) {
            for (int j = 0; j < TE_MAX_RANK; j++) print_number(g->perm[i][j], &out);
            print_stmt(&x, g->fused[i], stored[g->fused[i]], &out);
        }
        text[k] = buf_str(&out);
        name_group(&x, g, false);
    }
}

const char *access_part_text(Arena *a, const Te *te, const uint8_t *mark) {
    Nameless x;
    Buf out = buf_new(a);
    open_nameless(a, te, &x);
    for (int k = 0; k < te->n_stmt; k++) {
        name_statement(&x, k, true);
        print_number(mark[k], &out);
        print_stmt(&x, k, !te_is_passing(&te->tensor[te->stmt[k].tensor]), &out);
    }
    return buf_str(&out);
}
