#include "te/access/access.h"
#include "te/tree/tree.h"
#include <inttypes.h>

static const char *const class_name[AX_CLASSES] = {"batch", "M", "N", "K"};

static void print_affine(const TeStmt *s, const Affine *f, Buf *out) {
    bool any = false;
    for (int i = 0; i < s->n_index; i++) {
        int64_t k = f->coef[i];
        if (k == 0)
            continue;
        const char *sign = k < 0 ? (any ? " - " : "-") : (any ? " + " : "");
        buf_puts(out, sign);
        if (k != 1 && k != -1)
            buf_printf(out, "%" PRId64 "*", k < 0 ? -k : k);
        buf_puts(out, s->index[i].name);
        any = true;
    }
    if (!any)
        buf_printf(out, "%" PRId64, f->c);
    else if (f->c != 0)
        buf_printf(out, " %c %" PRId64, f->c < 0 ? '-' : '+', f->c < 0 ? -f->c : f->c);
}

static void print_access(const Te *te, const TeStmt *s, const Access *x, Buf *out) {
    const TeTensor *t = &te->tensor[x->tensor];
    buf_printf(out, "%s %s", t->name, te_dtype_name(t->dtype));
    if (!x->affine) {
        buf_puts(out, ": not affine\n");
        return;
    }
    buf_puts(out, " at ");
    print_affine(s, &x->offset, out);
    for (int d = 0; d < t->rank; d++) {
        if (!x->guard[d])
            continue;
        buf_puts(out, ", if 0 <= ");
        print_affine(s, &x->sub[d], out);
        buf_printf(out, " < %" PRId64, t->shape[d].value);
    }
    buf_putc(out, '\n');
}

static void print_axis(const TeStmt *s, AxisClass class, const FusedAxis *x, Buf *out) {
    if (x->n == 0)
        return;
    buf_printf(out, "  %s %" PRId64 " =", class_name[class], x->extent);
    for (int d = 0; d < x->n_digit; d++) {
        buf_puts(out, d ? " | " : " ");
        for (int i = 0; i < x->digit[d].n; i++)
            buf_printf(out, "%s%s", i ? "," : "", s->index[x->index[x->digit[d].first + i]].name);
        buf_printf(out, ":%" PRId64, x->digit[d].extent);
    }
    buf_putc(out, '\n');
}

static void print_operand(const Te *te, const TeStmt *s, char name, const Operand *o, Buf *out) {
    buf_printf(out, "  %c: ", name);
    te_print_expr(te, s, o->expr, out);
    buf_printf(out, " (%s%s)\n", te_dtype_name(o->storage), o->read ? "" : ", computed");
}

/* `why`: it does not separate; NULL: it does.  */
static void print_product(const Te *te, const Contraction *c, const char *why, Buf *out) {
    const TeStmt *s = &te->stmt[c->stmt];
    buf_printf(out, "  contraction in %s%s\n", te_dtype_name(c->acc),
               c->product ? ", of a product" : "");
    if (why)
        buf_printf(out, "  one operand only: %s\n", why);
    for (int k = 0; k < AX_CLASSES; k++)
        print_axis(s, (AxisClass)k, &c->axis[k], out);
    for (int i = 0; i < c->n_operand; i++)
        print_operand(te, s, (char)('a' + i), &c->operand[i], out);
}

static void print_contraction(const Te *te, const KernelGroup *g, Buf *out) {
    Contraction c;
    const char *why = NULL;
    bool separates = g->stats || g->chain ? access_group_contraction(te, g, &c, &why)
                                          : access_contraction(te, g->root, &c, &why);
    print_product(te, &c, separates ? NULL : why, out);
}

static void print_statement(const Te *te, int stmt, Buf *out) {
    const TeStmt *s = &te->stmt[stmt];
    Access x;
    buf_printf(out, "    %s = ", te->tensor[s->tensor].name);
    te_print_expr(te, s, s->rhs, out);
    buf_putc(out, '\n');
    ReadList reads = access_reads(s->rhs);
    for (int i = 0; i < reads.n; i++) {
        access_read(te, s, reads.at[i], &x);
        buf_puts(out, "      reads ");
        print_access(te, s, &x, out);
    }
    access_write(te, s, &x);
    buf_puts(out, "      writes ");
    print_access(te, s, &x, out);
}

static void print_rows(const Te *te, const RowGroup *g, Buf *out) {
    static const char *const role[] = {"reduce", "map", "per row"};
    const TeStmt *frame = &te->stmt[g->frame];
    buf_puts(out, "  rows");
    for (int i = 0; i < frame->n_index; i++)
        buf_printf(out, "%s %s", i == frame->n_left ? ", columns" : "", frame->index[i].name);
    buf_printf(out, ", %d pass%s\n", g->n_pass, g->n_pass == 1 ? "" : "es");
    for (int i = 0; i < g->n; i++) {
        buf_printf(out, "  %s, pass %d\n", role[g->role[i]], g->pass[i]);
        print_statement(te, g->stmt[i], out);
    }
}

/* The statement that statement s of the group follows; -1: none.  */
static int leader_of(const KernelGroup *g, int s) {
    const RowGroup *t = g->columns;
    for (int i = 0; t && i < t->n; i++) {
        if (t->stmt[i] == s && t->follow[i])
            return t->stmt[t->leader[i]];
    }
    return -1;
}

static void print_bounds(const Te *te, const ColumnBound *b, int n, const char *what, Buf *out) {
    for (int i = 0; i < n; i++) {
        buf_printf(out, "  columns %s ", what);
        te_print_expr(te, &te->stmt[b[i].stmt], b[i].e, out);
        if (b[i].add)
            buf_printf(out, " %c %" PRId64, b[i].add < 0 ? '-' : '+',
                       b[i].add < 0 ? -b[i].add : b[i].add);
        buf_putc(out, '\n');
    }
}

static void print_chain(const Te *te, const KernelGroup *g, Buf *out) {
    static const char *const part[] = {"score", "reduce over the row", "per row",
                                       "second product", "result"};
    const Chain *c = g->chain;
    Contraction second;
    const char *why = NULL;
    print_bounds(te, c->bounds.from, c->bounds.n_from, "from", out);
    print_bounds(te, c->bounds.to, c->bounds.n_to, "before", out);
    if (!c->bounds.tested) buf_puts(out, "  columns within are tested\n");
    for (int i = 0; i < g->n_fused; i++) {
        int s = g->fused[i];
        buf_printf(out, "  %s", part[c->part[i]]);
        if (s == c->second && c->follow == FOLLOW_SCALE)
            buf_printf(out, ", following %s", te->tensor[c->center].name);
        buf_putc(out, '\n');
        print_statement(te, s, out);
    }
    bool separates = access_chain_contraction(te, g, &second, &why);
    print_product(te, &second, separates ? NULL : why, out);
}

void access_print(const Te *te, const KernelGroup *groups, int n, Buf *out) {
    for (int k = 0; k < n; k++) {
        const KernelGroup *g = &groups[k];
        const TeStmt *s = &te->stmt[g->root];
        if (g->row) {
            buf_printf(out, "group %d: rows of %s\n", k, te->tensor[s->tensor].name);
            print_rows(te, g->row, out);
            continue;
        }
        const char *kind = g->chain ? "chain" : s->rhs->kind == TE_REDUCE ? "reduction" : "map";
        buf_printf(out, "group %d: %s of %s\n", k, kind, te->tensor[s->tensor].name);
        if (s->rhs->kind == TE_REDUCE)
            print_contraction(te, g, out);
        buf_puts(out, "  root\n");
        print_statement(te, g->root, out);
        if (g->chain) {
            print_chain(te, g, out);
            continue;
        }
        if (g->stats) {
            print_rows(te, g->stats, out);
            continue;
        }
        for (int i = 0; i < g->n_fused; i++) {
            int leader = leader_of(g, g->fused[i]);
            if (leader < 0) buf_puts(out, "  then\n");
            else buf_printf(out, "  following %s\n", te->tensor[te->stmt[leader].tensor].name);
            print_statement(te, g->fused[i], out);
        }
    }
}
