#include "te/group/groups.h"
#include <stdlib.h>
#include <string.h>

/* The write that decides, in terms of the root's indices: of the last statement of the group that
 * makes values of rows of its results, or of the last other one whose tensor is in memory, these
 * first (`rows`) or those.  */
static Affine deciding_write(const Te *te, const Groups *g, int stmt, bool rows) {
    Affine out = {0};
    bool found = false;
    for (int i = 0; i < te->n_stmt; i++) {
        bool of_rows = te->stmt[i].n_left < te->stmt[stmt].n_left;
        if (g->home[i] != g->home[stmt] || (found && of_rows != rows) ||
            (!of_rows && !groups_materialized(te, g, te->stmt[i].tensor)))
            continue;
        found |= of_rows == rows;
        Access w;
        access_write(te, &te->stmt[i], &w);
        out = (Affine){0};
        for (int j = 0; j < te->stmt[i].n_left; j++)
            out.coef[g->perm[i][j]] = w.offset.coef[j];
    }
    return out;
}

/* Values of rows say which side of a product has the rows.  */
int axes_fastest(const Te *te, const Groups *g, int stmt, const uint8_t *class) {
    const TeStmt *s = &te->stmt[stmt];
    Affine w = deciding_write(te, g, stmt, true);
    int best[AX_CLASSES] = {-1, -1, -1, -1}, all = -1;
    for (int i = 0; i < s->n_left; i++) {
        int *of = &best[class[i]];
        if (te_index_extent(&s->index[i]) <= 1)
            continue;
        if (*of < 0 || w.coef[i] <= w.coef[*of])
            *of = i;
        if (all < 0 || w.coef[i] <= w.coef[all])
            all = i;
    }
    if (best[AX_M] < 0 || best[AX_N] < 0)
        return all;
    return w.coef[best[AX_M]] < w.coef[best[AX_N]] ? best[AX_M] : best[AX_N];
}

/* Which pairs of indices (outer, inner) every access treats as one.  */
typedef struct {
    bool as_one[TE_MAX_INDICES][TE_MAX_INDICES];
    int64_t extent[TE_MAX_INDICES];
    uint32_t varies;                      /* indices whose extent is known at run time */
    int n;
} Bonds;

static void break_bonds(Bonds *b, uint32_t indices) {
    for (int i = 0; i < b->n; i++) {
        for (int j = 0; j < b->n; j++) {
            if ((indices >> i | indices >> j) & 1)
                b->as_one[i][j] = false;
        }
    }
}

/* Where a coefficient varies with the sizes, only indices that never move stay one.  */
static void keep_where_linear(Bonds *b, const int64_t *coef, uint32_t varies) {
    for (int i = 0; i < b->n; i++) {
        for (int j = 0; j < b->n; j++) {
            bool moves = coef[i] != 0 || coef[j] != 0;
            bool unknown = (b->varies >> j | varies >> i | varies >> j) & 1;
            if (coef[i] != coef[j] * b->extent[j] || (unknown && moves))
                b->as_one[i][j] = false;
        }
    }
}

/* A statement's own index to the root's.  */
static int to_root(const Groups *g, int stmt, int index) {
    return g->root[g->home[stmt]] == stmt ? index : g->perm[stmt][index];
}

static uint32_t mask_to_root(const Groups *g, int stmt, uint32_t uses) {
    uint32_t out = 0;
    for (int i = 0; i < TE_MAX_INDICES; i++) {
        if (uses >> i & 1)
            out |= 1u << to_root(g, stmt, i);
    }
    return out;
}

static void bond_access(Bonds *b, const Te *te, const Groups *g, int stmt, const Access *x) {
    if (!x->affine) {
        break_bonds(b, mask_to_root(g, stmt, x->uses));
        return;
    }
    const TeStmt *s = &te->stmt[stmt];
    int64_t coef[TE_MAX_INDICES] = {0};
    for (int i = 0; i < s->n_index; i++)
        coef[to_root(g, stmt, i)] = x->offset.coef[i];
    keep_where_linear(b, coef, mask_to_root(g, stmt, x->varies));
    for (int d = 0; d < te->tensor[x->tensor].rank; d++) {
        for (int i = 0; x->guard[d] && i < s->n_index; i++) {
            if (x->sub[d].coef[i] != 0)
                break_bonds(b, 1u << to_root(g, stmt, i));
        }
    }
}

/* Indices used as values, outside every subscript.  */
static uint32_t value_uses(const TeExpr *e) {
    if (e->kind == TE_INDEX)
        return 1u << e->v.ref;
    uint32_t uses = e->other ? value_uses(e->other) : 0;
    for (int i = 0; i < e->n_args && e->kind != TE_READ; i++)
        uses |= value_uses(e->args[i]);
    return uses;
}

static bool made_in_group(const Groups *g, int stmt, int tensor) {
    return g->maker[tensor] >= 0 && g->home[g->maker[tensor]] == g->home[stmt];
}

static void bond_statement(Bonds *b, const Te *te, const Groups *g, int stmt) {
    const TeStmt *s = &te->stmt[stmt];
    Access x;
    ReadList reads = access_reads(s->rhs);
    for (int i = 0; i < reads.n; i++) {
        if (made_in_group(g, stmt, reads.at[i]->v.ref))
            continue;
        access_read(te, s, reads.at[i], &x);
        bond_access(b, te, g, stmt, &x);
    }
    break_bonds(b, mask_to_root(g, stmt, value_uses(s->rhs)));
    if (groups_materialized(te, g, s->tensor)) {
        access_write(te, s, &x);
        bond_access(b, te, g, stmt, &x);
    }
}

/* argmax's position counts row-major through the reduction's indices as listed.  */
static void bond_position(Bonds *b, const TeExpr *reduce) {
    int64_t coef[TE_MAX_INDICES] = {0}, stride = 1;
    for (int i = reduce->n_index - 1; i >= 0; i--) {
        coef[reduce->index[i]] = stride;
        stride *= b->extent[reduce->index[i]];
    }
    keep_where_linear(b, coef, 0);
}

static void find_bonds(Bonds *b, const Te *te, const Groups *g, int stmt) {
    const TeStmt *s = &te->stmt[stmt];
    b->n = s->n_index;
    b->varies = 0;
    for (int i = 0; i < b->n; i++) {
        b->extent[i] = te_index_extent(&s->index[i]);
        b->varies |= (uint32_t)(s->index[i].hi.expr != NULL) << i;
        for (int j = 0; j < b->n; j++)
            b->as_one[i][j] = s->index[i].reduction == s->index[j].reduction;
    }
    for (int i = 0; i < te->n_stmt; i++) {
        if (g->home[i] == g->home[stmt])
            bond_statement(b, te, g, i);
    }
    if (s->rhs->red == TE_RED_ARGMAX || s->rhs->red == TE_RED_ARGMIN)
        bond_position(b, s->rhs);
}

/* Element stride of an index in what an operand reads most; where a subscript is not affine, that
 * of its dimension.  */
static int64_t read_stride(const Te *te, const TeStmt *s, const TeExpr *e, int index) {
    ReadList reads = e ? access_reads(e) : (ReadList){0};
    int64_t best = 0;
    for (int i = 0; i < reads.n; i++) {
        const TeTensor *t = &te->tensor[reads.at[i]->v.ref];
        int64_t sum = 0;
        for (int d = 0; d < t->rank; d++) {
            Affine f;
            if (access_affine(te, s, reads.at[i]->args[d], &f))
                sum += f.coef[index] * t->stride[d].value;
            else if (access_uses(reads.at[i]->args[d]) >> index & 1)
                sum += t->stride[d].value;
        }
        sum = sum < 0 ? -sum : sum;
        best = sum > best ? sum : best;
    }
    return best;
}

static double elements(const TeStmt *s, const TeExpr *e) {
    uint32_t uses = e ? access_uses(e) : 0;
    double n = e ? 1 : 0;
    for (int i = 0; i < s->n_index; i++) {
        if (uses >> i & 1)
            n *= (double)te_index_extent(&s->index[i]);
    }
    return n;
}

/* Order keys: indices of extent 1 first, places in a block last, else by falling stride, then as
 * written.  */
typedef struct {
    bool varies, place;
    int64_t stride, second;
    int index;
} AxisKey;

static int compare_keys(const void *px, const void *py) {
    const AxisKey *x = px, *y = py;
    if (x->varies != y->varies)
        return x->varies ? 1 : -1;
    if (x->place != y->place)
        return x->place ? 1 : -1;
    if (x->stride != y->stride)
        return x->stride < y->stride ? 1 : -1;
    if (x->second != y->second)
        return x->second < y->second ? 1 : -1;
    return x->index < y->index ? -1 : 1;
}

static void merge_digits(const Bonds *b, FusedAxis *x) {
    x->extent = 1;
    for (int i = 0; i < x->n; i++) {
        int64_t extent = b->extent[x->index[i]];
        x->extent *= extent;
        AxisDigit *last = x->n_digit > 0 ? &x->digit[x->n_digit - 1] : NULL;
        if (last && (last->extent == 1 || b->as_one[x->index[i - 1]][x->index[i]])) {
            last->n++;
            last->extent *= extent;
        } else {
            x->digit[x->n_digit++] = (AxisDigit){.first = i, .n = 1, .extent = extent};
        }
    }
}

void axes_build(const Te *te, const Groups *g, int stmt, const uint8_t *class, Contraction *c) {
    const TeStmt *s = &te->stmt[stmt];
    Affine write = deciding_write(te, g, stmt, false);
    bool a_larger = elements(s, c->operand[0].expr) >= elements(s, c->operand[1].expr);
    const TeExpr *large = a_larger ? c->operand[0].expr : c->operand[1].expr;
    const TeExpr *small = a_larger ? c->operand[1].expr : c->operand[0].expr;
    AxisKey key[AX_CLASSES][TE_MAX_INDICES];
    Bonds bonds;
    find_bonds(&bonds, te, g, stmt);
    for (int i = 0; i < s->n_index; i++) {
        if (class[i] == AX_CLASSES) continue;
        FusedAxis *x = &c->axis[class[i]];
        AxisKey *k = &key[class[i]][x->n++];
        *k = (AxisKey){.varies = bonds.extent[i] != 1, .place = s->index[i].place,
                       .stride = write.coef[i], .index = i};
        if (class[i] == AX_K) {
            k->stride = read_stride(te, s, large, i);
            k->second = read_stride(te, s, small, i);
        }
    }
    for (int k = 0; k < AX_CLASSES; k++) {
        FusedAxis *x = &c->axis[k];
        qsort(key[k], (size_t)x->n, sizeof key[k][0], compare_keys);
        for (int i = 0; i < x->n; i++)
            x->index[i] = (uint8_t)key[k][i].index;
        merge_digits(&bonds, x);
    }
}

int64_t access_divisor(const TeStmt *s, const FusedAxis *axis, int first, int n) {
    int64_t divisor = 1;
    for (int i = first; i < first + n; i++)
        divisor *= te_extent_divisor(&s->index[axis->index[i]].hi);
    return divisor;
}

bool access_varies(const TeStmt *s, const FusedAxis *axis, int first, int n) {
    bool varies = false;
    for (int i = first; i < first + n; i++)
        varies = varies || s->index[axis->index[i]].hi.expr;
    return varies;
}

static void resize_axis(const TeStmt *s, FusedAxis *x) {
    x->extent = 1;
    for (int d = 0; d < x->n_digit; d++) {
        x->digit[d].extent = 1;
        for (int i = 0; i < x->digit[d].n; i++)
            x->digit[d].extent *= te_index_extent(&s->index[x->index[x->digit[d].first + i]]);
        x->extent *= x->digit[d].extent;
    }
}

void access_resize(const Te *sized, Contraction *c) {
    const TeStmt *s = &sized->stmt[c->stmt];
    for (int k = 0; k < AX_CLASSES; k++)
        resize_axis(s, &c->axis[k]);
    for (int i = 0; i < c->n_operand; i++) {
        Operand *o = &c->operand[i];
        if (o->read) access_read(sized, s, o->read, &o->access);
    }
}
