#include "codegen/sizes.h"
#include "codegen/blocks.h"
#include <string.h>

/* Where the outputs of a thread of `contract` lie: pointers to the first ones, and what its loops
 * add.  A position along M or N is `own` of the thread plus `step` of the loops, which is a number
 * once they are unrolled: a compiler that is given sums of both spends most of its time on taking
 * them apart again, and finds less.  Where a loop's part is no number either, there are a pointer
 * and a position for each of its turns.  */

/* Index of statement `stmt` that runs with the root's index; -1: none.  */
static int index_with(const Kernel *k, int stmt, int root_index) {
    const TeStmt *s = &k->cg->te->stmt[stmt];
    for (int j = 0; j < s->n_left; j++)
        if (elements_root_index(k, stmt, j) == root_index) return j;
    return -1;
}

static bool is_one(const TeExtent *e) { return !e->expr && e->value == 1; }

/* Does the statement run with all indices of an axis?  */
static bool runs_along(const Kernel *k, int stmt, AxisClass axis) {
    const FusedAxis *f = &k->l->p->con.axis[axis];
    for (int i = 0; i < f->n; i++) {
        bool one = is_one(&k->c.root->index[f->index[i]].hi);
        if (!one && index_with(k, stmt, f->index[i]) < 0) return false;
    }
    return true;
}

/* Where the indices of an axis begin that end before `end` and lie in memory one after the other:
 * the offset of a write is a multiple of their joint position.  `stride`: of which; NULL: they are
 * one element.  */
static int run_before(const Kernel *k, int stmt, const Access *x, const FusedAxis *f, int end,
                      const char **stride) {
    int64_t below = 1;
    int inner = -1;
    *stride = NULL;
    for (int i = end - 1; i >= 0; i--) {
        const TeExtent *e = &k->c.root->index[f->index[i]].hi;
        if (is_one(e)) continue;
        int j = index_with(k, stmt, f->index[i]);
        bool fixed = !e->expr && !(x->varies >> j & 1);
        if (inner >= 0 && (!fixed || below == 0 ||
                           x->offset.coef[j] != x->offset.coef[inner] * below))
            return i + 1;
        if (inner < 0) {
            inner = j;
            *stride = text_stride(k->cg, x, j);
        }
        below = fixed ? below * e->value : 0;
    }
    return 0;
}

/* Is the offset of a write a multiple of the position along an axis, also where that is a number of
 * several digits?  */
static bool is_linear(const Kernel *k, int stmt, const Access *x, AxisClass axis,
                      const char **stride) {
    const FusedAxis *f = &k->l->p->con.axis[axis];
    return run_before(k, stmt, x, f, f->n, stride) == 0;
}

/* sum + value * stride.  */
static const char *add(const Cg *cg, const char *sum, bool wide, const char *value,
                       const char *stride) {
    if (!value || !stride) return sum;
    const char *cast = wide ? "(long long)" : "";
    const char *term = strchr(value, ' ') ? cg_text(cg, "%s(%s)", cast, value)
                                          : cg_text(cg, "%s%s", cast, value);
    if (strcmp(stride, "1") != 0) term = cg_text(cg, "%s * %s", term, stride);
    return sum ? cg_text(cg, "%s + %s", sum, term) : term;
}

/* sum + the part of an axis by its indices.  */
static const char *add_indices(const Kernel *k, int stmt, const Access *x, AxisClass axis,
                               const char *sum) {
    const FusedAxis *f = &k->l->p->con.axis[axis];
    for (int i = 0; i < f->n; i++) {
        if (is_one(&k->c.root->index[f->index[i]].hi)) continue;
        int j = index_with(k, stmt, f->index[i]);
        sum = add(k->cg, sum, cg_tensor_wide(k->cg, x->tensor),
                  text_of(k->cg, k->at.index[f->index[i]]), text_stride(k->cg, x, j));
    }
    return sum;
}

/* sum + the part of an axis by its position, from which each run of indices is taken as one.  */
static const char *add_axis(const Kernel *k, int stmt, const Access *x, AxisClass axis,
                            const char *position, const char *sum) {
    const Cg *cg = k->cg;
    const FusedAxis *f = &k->l->p->con.axis[axis];
    const char *stride[TE_MAX_INDICES], *digit[TE_MAX_INDICES];
    TeExtent count[TE_MAX_INDICES] = {{0}};
    int first = TE_MAX_INDICES;
    for (int end = f->n, from; end > 0; end = from) {
        first--;
        from = run_before(k, stmt, x, f, end, &stride[first]);
        count[first] = size_product(cg->arena, k->c.root, f->index + from, end - from);
    }
    text_digits(cg, position, count + first, TE_MAX_INDICES - first, place_wide(f->extent, 0),
                 digit + first);
    for (int i = TE_MAX_INDICES - 1; i >= first; i--)
        sum = add(cg, sum, cg_tensor_wide(cg, x->tensor), digit[i], stride[i]);
    return sum;
}

/* ---- positions ---- */

void store_position(Kernel *k, AxisClass axis, const char *own, const char *step) {
    const char *name = axis == AX_M ? "m" : "n";
    cg_line(k->cg, "const %s %s_at = %s;", place_along(k, axis), name, own);
    k->at.own[axis == AX_N] = cg_text(k->cg, "%s_at", name);
    k->at.step[axis == AX_N] = step;
}

void store_turns(Kernel *k, const Turns *turns) {
    k->at.turns = *turns;
    if (turns->array) cg_line(k->cg, "%s[%s];", turns->array, turns->count);
    for (int i = 0; i < 2 && turns->part[0]; i++)
        cg_line(k->cg, "%s %c_by[%s];", place_along(k, i ? AX_N : AX_M), i ? 'n' : 'm',
                turns->count);
}

const char *store_at(const Kernel *k, AxisClass axis) {
    const char *step = k->at.step[axis == AX_N], *own = k->at.own[axis == AX_N];
    const Turns *t = &k->at.turns;
    if (t->part[0] && axis == AX_N) return cg_text(k->cg, "n_by[%s]", t->turn);
    if (t->part[0]) return cg_text(k->cg, "m_by[%s] + %s", t->turn, t->rest);
    return step ? cg_text(k->cg, "%s + (%s)", own, step) : own;
}

/* Where a turn is along an axis.  */
static const char *turn_at(const Kernel *k, AxisClass axis) {
    int i = axis == AX_N;
    return k->at.turns.part[i] ? (i ? "n" : "m") : k->at.own[i];
}

/* Opens the loop that fills arrays of pointers.  */
static void open_turns(Kernel *k) {
    Cg *cg = k->cg;
    const Turns *t = &k->at.turns;
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (%s)", t->loop);
    if (t->head) cg_line(cg, "%s", t->head);
    for (int i = 0; i < 2; i++) {
        AxisClass axis = i ? AX_N : AX_M;
        if (t->part[i])
            cg_line(cg, "const %s %s = %s + (%s);", place_along(k, axis), turn_at(k, axis),
                    k->at.own[i], t->part[i]);
    }
    if (t->array) cg_line(cg, "%s", t->fill);
    if (t->part[0]) cg_line(cg, "m_by[%s] = m, n_by[%s] = n;", t->turn, t->turn);
}

/* ---- pointers to tensors ---- */

/* Has the tensor pointers of the thread?  `many`: one for each turn.  */
static bool has_pointers(const Kernel *k, int stmt, const Access *x, bool *many) {
    const Turns *turns = &k->at.turns;
    const char *stride;
    if (k->cg->te->tensor[x->tensor].n_clip > 0) return false;
    if (!k->at.own[0] || !x->affine || x->offset.c != 0 || x->c_varies) return false;
    for (int axis = AX_B; axis <= AX_N; axis++)
        if (!runs_along(k, stmt, (AxisClass)axis)) return false;
    bool linear = is_linear(k, stmt, x, AX_N, &stride);
    *many = turns->loop && (turns->part[0] || !linear);
    return is_linear(k, stmt, x, AX_M, &stride) && (*many || linear);
}

typedef enum { POINTER_SINGLE, POINTER_ARRAY, POINTER_TURN } PointerText;

/* Prints the tensors' pointers: single ones, arrays, or what a turn puts into these.  Returns how
 * many there are of the kind.  */
static int print_pointers(Kernel *k, PointerText what) {
    Cg *cg = k->cg;
    const KernelGroup *g = k->l->p->group;
    const Turns *turns = &k->at.turns;
    int n = 0;
    for (int i = 0; i <= g->n_fused; i++) {
        int stmt = i ? g->fused[i - 1] : g->root, t = cg->te->stmt[stmt].tensor;
        bool many;
        Access x;
        if (!elements_in_memory(k, t)) continue;
        access_write(cg->te, &cg->te->stmt[stmt], &x);
        if (!has_pointers(k, stmt, &x, &many) || many != (what != POINTER_SINGLE)) continue;
        const char *type = cg_storage(cg->te->tensor[t].dtype);
        const char *sum = add_indices(k, stmt, &x, AX_B, NULL);
        sum = add_axis(k, stmt, &x, AX_M, many ? turn_at(k, AX_M) : k->at.own[0], sum);
        sum = add_axis(k, stmt, &x, AX_N, many ? turn_at(k, AX_N) : k->at.own[1], sum);
        if (!sum) sum = "0";
        const char *from = text_tensor(cg, t);
        const char *to = cg_name(cg, "p", t);
        if (what == POINTER_SINGLE) cg_line(cg, "%s *const %s = %s + (%s);", type, to, from, sum);
        else if (what == POINTER_ARRAY) cg_line(cg, "%s *%s[%s];", type, to, turns->count);
        else cg_line(cg, "%s[%s] = %s + (%s);", to, turns->turn, from, sum);
        n++;
    }
    return n;
}

void store_pointers(Kernel *k) {
    print_pointers(k, POINTER_SINGLE);
    if (print_pointers(k, POINTER_ARRAY) == 0 && !k->at.turns.array) return;
    open_turns(k);
    print_pointers(k, POINTER_TURN);
    cg_close(k->cg);
}

Ir store_place(const Kernel *k, int stmt, const Access *x, Ir *offset) {
    const Cg *cg = k->cg;
    int t = x->tensor;
    bool many;
    if (!has_pointers(k, stmt, x, &many)) {
        CgPoint first = elements_point(k, stmt, true);
        *offset = stream_offset(k, stmt, x, first.index);
        return cg_tensor(cg, t);
    }
    bool wide = cg_tensor_wide(cg, t);
    const char *stride, *sum;
    is_linear(k, stmt, x, AX_M, &stride);
    sum = add(cg, NULL, wide, many ? k->at.turns.rest : k->at.step[0], stride);
    is_linear(k, stmt, x, AX_N, &stride);
    if (!many) sum = add(cg, sum, wide, k->at.step[1], stride);
    *offset = sum ? text_index(cg, sum, wide) : ir_int(cg, 0);
    const char *name = cg_name(cg, "p", t);
    if (many) name = cg_text(cg, "%s[%s]", name, k->at.turns.turn);
    return ir_text(cg, ir_pointer(ir_storage(cg->te->tensor[t].dtype), IR_GLOBAL, false), name);
}

/* ---- pointers to partial sums ---- */

void store_sums(Kernel *k, const char *row, const char *column, const char *stride) {
    Cg *cg = k->cg;
    const Turns *turns = &k->at.turns;
    const char *type = cg_type(k->l->p->con.acc);
    bool many = turns->loop && turns->part[0];
    const char *m = many ? turn_at(k, AX_M) : k->at.own[0];
    const char *n = many ? turn_at(k, AX_N) : k->at.own[1];
    const char *from = cg_text(cg, "sums + ((%s%s) * %s + (%s%s))", row, m, stride, column, n);
    const char *sum = add(cg, NULL, true, many ? turns->rest : k->at.step[0], stride);
    if (!many) {
        cg_line(cg, "%s *const part = %s;", type, from);
        sum = add(cg, sum, true, k->at.step[1], "1");
        k->at.sums = sum ? cg_text(cg, "part + (%s)", sum) : "part";
        return;
    }
    cg_line(cg, "%s *part[%s];", type, turns->count);
    open_turns(k);
    cg_line(cg, "part[%s] = %s;", turns->turn, from);
    cg_close(cg);
    k->at.sums = sum ? cg_text(cg, "part[%s] + %s", turns->turn, sum)
                     : cg_text(cg, "part[%s]", turns->turn);
}
