/* The text of a kernel group, or of a part of an op: all that decides about its kernels, whatever
 * names it has.  */
#include "te/access/access.h"
#include "te/tree/tree.h"
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

/* How far all reads of a tensor are moved towards its start, per dimension, by the literals of
 * their subscripts: what another kernel does from another place on, as the next step of a
 * recurrence does, has the same text.  */
typedef struct {
    int64_t by[TE_MAX_RANK];  /* UNREAD: nobody has read it so far */
} Move;
#define UNREAD INT64_MAX

/* An op whose tensors and indices have numbers for names: those of the tensors by their first
 * appearance in a group.  */
typedef struct {
    Arena *a;
    Te te;
    const char *index[TE_MAX_INDICES];
    int n_named;
    Move *move;               /* per tensor, of those that have a name */
    bool part;                /* of an op: its tensors lie in memory, or are computed where they are
                               * read; else they are kernels' own */
} Nameless;

static void open_nameless(Arena *a, const Te *te, Nameless *x) {
    *x = (Nameless){.a = a, .te = *te};
    x->te.tensor = ARENA_ARRAY(a, TeTensor, te->n_tensor);
    memcpy(x->te.tensor, te->tensor, (size_t)te->n_tensor * sizeof *te->tensor);
    x->move = ARENA_ARRAY(a, Move, te->n_tensor);
    for (int t = 0; t < te->n_tensor; t++) x->te.tensor[t].name = NULL;
    for (int i = 0; i < TE_MAX_INDICES; i++) x->index[i] = arena_printf(a, "i%d", i);
}

static void name_tensor(Nameless *x, int t) {
    TeTensor *tensor = &x->te.tensor[t];
    if (tensor->name) return;
    for (int d = 0; d < tensor->rank; d++) x->move[t].by[d] = UNREAD;
    tensor->name = arena_printf(x->a, "T%d_%s", x->n_named++, te_dtype_name(tensor->dtype));
}

static void name_scalars(Nameless *x, const TeExpr *e) {
    if (e->kind == TE_SCALAR) name_tensor(x, e->v.ref);
    for (int i = 0; i < e->n_args; i++) name_scalars(x, e->args[i]);
    if (e->other) name_scalars(x, e->other);
}

/* The literal of subscripts i + 3, or 3.  What would become a quotient alone is left: with the
 * remainder in the next dimension that is another kind of read.  */
static int64_t literal_of(const TeExpr *sub) {
    const TeExpr *e = sub->kind == TE_ADD && sub->args[0]->kind != TE_DIV ? sub->args[1] : sub;
    return e->kind == TE_INT ? e->v.i : 0;
}

/* Is the read never outside of its tensor along dimension d, so that no kernel tests it there?  */
static bool stays_inside(const Nameless *x, const TeStmt *s, const TeExpr *read, int d) {
    Affine f;
    return te_always_inside(read) ||
           (access_affine(&x->te, s, read->args[d], &f) &&
            !access_leaves(s, read->args[d], &f, &x->te.tensor[read->v.ref].shape[d]));
}

/* How far the read may be moved along dimension d.  It is inside of the tensor at all points before
 * and after it, and lies as far from others as before.  */
static int64_t may_move(const Nameless *x, const TeStmt *s, const TeExpr *read, int d) {
    const TeTensor *t = &x->te.tensor[read->v.ref];
    int64_t literal = literal_of(read->args[d]);
    Affine f;
    bool may = literal > 0 && t->n_clip == 0 && !t->shape[d].expr && !t->stride[d].expr &&
               access_affine(&x->te, s, read->args[d], &f) && stays_inside(x, s, read, d);
    return may ? literal : 0;
}

/* Is an index none but a subscript of reads that stay inside of their tensors there?  Then what is
 * made at one value of it is made at any other from another place on.  */
static bool only_moves(const Nameless *x, const TeStmt *s, const TeExpr *e, int index) {
    bool only = e->kind != TE_INDEX || e->v.ref != index;
    for (int i = 0; i < e->n_args && only; i++) {
        bool subscript = e->kind == TE_READ && e->args[i]->kind == TE_INDEX &&
                         stays_inside(x, s, e, i);
        only = subscript || only_moves(x, s, e->args[i], index);
    }
    return only && (!e->other || only_moves(x, s, e->other, index));
}

static void name_made(Nameless *x, const TeStmt *s) {
    name_tensor(x, s->tensor);
    for (int d = 0; d < s->n_left; d++)
        if (!x->part || !only_moves(x, s, s->rhs, d)) x->move[s->tensor].by[d] = 0;
}

static void name_read(Nameless *x, const TeStmt *s, const TeExpr *read) {
    name_tensor(x, read->v.ref);
    for (int d = 0; d < read->n_args; d++) {
        int64_t *by = &x->move[read->v.ref].by[d];
        int64_t own = *by ? may_move(x, s, read, d) : 0;
        if (own < *by) *by = own;
    }
}

static void name_statement(Nameless *x, int stmt, bool names) {
    const TeStmt *s = &x->te.stmt[stmt];
    ReadList reads = access_reads(s->rhs);
    if (names) name_made(x, s);
    else x->te.tensor[s->tensor].name = NULL;
    for (int i = 0; i < reads.n; i++) {
        if (names) name_read(x, s, reads.at[i]);
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

static int64_t moved_by(const Nameless *x, int tensor, int d) {
    int64_t by = x->move[tensor].by[d];
    return by == UNREAD ? 0 : by;
}

/* Where moved reads begin, as far as it decides on widths, sectors and lines.  */
static void print_start(const Nameless *x, int tensor, Buf *out) {
    enum { LINE = 128 };
    const TeTensor *t = &x->te.tensor[tensor];
    int64_t at = 0;
    bool any = false;
    for (int d = 0; d < t->rank; d++) {
        int64_t by = moved_by(x, tensor, d);
        any |= by > 0;
        at = (at + by % LINE * (t->stride[d].value % LINE)) % LINE;
    }
    if (any) print_number(at * te_dtype_bytes(t->dtype) % LINE, out);
}

static void print_tensor(const Nameless *x, int tensor, Buf *out) {
    const Te *te = &x->te;
    const TeTensor *t = &te->tensor[tensor];
    buf_puts(out, t->name);
    print_number(t->role, out);
    buf_puts(out, te_dtype_name(t->dtype));
    print_extents(te, t->shape, t->rank, out);
    print_extents(te, t->stride, t->rank, out);
    print_start(x, tensor, out);
    buf_putc(out, '\n');
}

/* Which ends of moved dimensions a read gets to.  */
static void print_ends(const Nameless *x, const TeStmt *s, const TeExpr *read, Buf *out) {
    for (int d = 0; d < read->n_args; d++) {
        Affine f;
        int64_t lo, hi;
        if (moved_by(x, read->v.ref, d) == 0) continue;
        access_affine(&x->te, s, read->args[d], &f);
        access_range(s, &f, &lo, &hi);
        print_number((lo == 0) + 2 * (hi == x->te.tensor[read->v.ref].shape[d].value - 1), out);
    }
}

static bool is_moved(const Nameless *x, const TeExpr *read) {
    bool any = false;
    for (int d = 0; d < read->n_args; d++) any |= moved_by(x, read->v.ref, d) > 0;
    return any;
}

static TeExpr *moved_subscript(Arena *a, TeExpr *e, int64_t by) {
    bool sum = e->kind == TE_ADD;
    const TeExpr *literal = sum ? e->args[1] : e;
    if (by == 0) return e;
    if (sum && literal->v.i == by) return e->args[0];
    TeExpr *less = te_expr_int(a, literal->v.i - by, literal->type, literal->pos);
    if (!sum) return less;
    e->args[1] = less;
    return e;
}

static void move_reads(const Nameless *x, TeExpr *e) {
    for (int i = 0; i < e->n_args; i++) move_reads(x, e->args[i]);
    if (e->other) move_reads(x, e->other);
    for (int d = 0; e->kind == TE_READ && d < e->n_args; d++)
        e->args[d] = moved_subscript(x->a, e->args[d], moved_by(x, e->v.ref, d));
}

/* The right side with its reads moved.  */
static TeExpr *moved(const Nameless *x, TeExpr *e) {
    ReadList reads = access_reads(e);
    bool any = false;
    for (int i = 0; i < reads.n && !any; i++) any = is_moved(x, reads.at[i]);
    if (!any) return e;
    TeExpr *copy = te_expr_copy(x->a, e);
    move_reads(x, copy);
    return copy;
}

static void print_stmt(const Nameless *x, int stmt, bool stored, Buf *out) {
    const Te *te = &x->te;
    TeStmt s = te->stmt[stmt];
    const ReadList reads = access_reads(s.rhs);
    s.rhs = moved(x, s.rhs);
    for (int i = 0; i < s.n_index; i++) {
        s.index[i].name = x->index[i];
        s.index[i].where = false;         /* it is printed for all that have an extent, below */
    }
    te_print_stmt(te, &s, out);
    for (int i = 0; i < s.n_index; i++) print_extents(te, &s.index[i].hi, 1, out);
    buf_puts(out, stored ? "\nstored " : "\n");
    print_tensor(x, s.tensor, out);
    for (int i = 0; i < reads.n; i++) {
        print_number(reads.at[i]->inside, out);
        print_ends(x, &s, reads.at[i], out);
        buf_putc(out, ' ');
        print_tensor(x, reads.at[i]->v.ref, out);
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

const char *access_part_text(Arena *a, const Te *te, const TeDecided *mark) {
    Nameless x;
    Buf out = buf_new(a);
    open_nameless(a, te, &x);
    x.part = true;
    for (int k = 0; k < te->n_stmt; k++) name_statement(&x, k, true);
    for (int k = 0; k < te->n_stmt; k++) {
        print_number(mark[k], &out);
        print_stmt(&x, k, !te_is_passing(&te->tensor[te->stmt[k].tensor]), &out);
    }
    return buf_str(&out);
}
