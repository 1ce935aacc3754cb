#include "codegen/blocks.h"
#include "codegen/sizes.h"

#include <math.h>

/* Sums that follow another reduction of their pass: what a thread, a step or a slice has summed is
 * made to fit when its center moves.
 *
 * Names in the text: past what a leader was before the step, own what it was for this thread alone,
 * seen and fresh the elements of the thread before the step and in it, base the center that the
 * terms of a step are made with.
 *
 * TIE_SHIFT adds deviations of parts by the identity of T. F. Chan, G. H. Golub, R. J. LeVeque,
 * Updating formulae and a pairwise algorithm for computing sample variances (1979): for parts of m
 * and n elements with means a and b, Q = Q_a + Q_b + (a - b)^2 m n / (m + n).  */

static const RowGroup *group(const Kernel *k) {
    return rprog_row_facts(k->l->p, k->l->r)->group;
}

static bool is_tied(const Kernel *k, int i, int pass, RowTie tie) {
    return group(k)->tie[i] == tie && group(k)->pass[i] == pass;
}

static int tensor_of(const Kernel *k, int i) { return k->cg->te->stmt[group(k)->stmt[i]].tensor; }
static int leader_of(const Kernel *k, int i) { return tensor_of(k, group(k)->leader[i]); }

static TeDtype type_of(const Kernel *k, int i) {
    return k->cg->te->stmt[group(k)->stmt[i]].rhs->type;
}

/* Has an earlier tied reduction the same leader?  */
static bool is_second(const Kernel *k, int i) {
    for (int j = 0; j < i; j++) {
        if (group(k)->tie[j] && group(k)->leader[j] == group(k)->leader[i]) return true;
    }
    return false;
}

static bool shifts(const Kernel *k, int pass) {
    for (int i = 0; i < group(k)->n; i++) {
        if (is_tied(k, i, pass, TIE_SHIFT)) return true;
    }
    return false;
}

const char *row_tie_factor(const Cg *cg, const TeExpr *sum, const char *from, const char *to) {
    bool two = sum->args[0]->v.fn == TE_FN_EXP2, wide = sum->type == TE_F64;
    const char *call = wide ? (two ? "exp2" : "exp") : two ? "exp2f" : "expf";
    return cg_text(cg, "(%s == %s ? %s : %s(%s - %s))", from, to, cg_real(cg, sum->type, 1), call,
                   from, to);
}

static const char *scale(const Kernel *k, int i, const char *from, const char *to) {
    return row_tie_factor(k->cg, k->cg->te->stmt[group(k)->stmt[i]].rhs, from, to);
}

void row_tie_clear(Kernel *k, int pass) {
    if (shifts(k, pass)) cg_line(k->cg, "int seen = 0;");
}

void row_tie_begin(Kernel *k, int pass) {
    Cg *cg = k->cg;
    if (shifts(k, pass)) cg_line(cg, "int fresh = 0;");
    for (int i = 0; i < group(k)->n; i++) {
        bool shift = is_tied(k, i, pass, TIE_SHIFT);
        if ((!shift && !is_tied(k, i, pass, TIE_SCALE)) || is_second(k, i)) continue;
        int lead = leader_of(k, i);
        cg_line(cg, "const %s past%d = acc%d;", cg_type(type_of(k, i)), lead, lead);
        if (shift) cg_line(cg, "acc%d = 0;", lead);
    }
}

void row_tie_count(Kernel *k, int pass) {
    if (shifts(k, pass)) cg_line(k->cg, "fresh += %d;", k->l->r->store_vec);
}

/* The thread's own sum where the step has a mean of its own.  */
static void follow_mean(Kernel *k, int i) {
    Cg *cg = k->cg;
    int t = tensor_of(k, i), lead = leader_of(k, i);
    const char *type = cg_type(type_of(k, i));
    cg_line(cg, "const %s base%d = acc%d / (%s)max(fresh, 1);", type, t, lead, type);
    cg_open(cg, "if (fresh > 0 && seen > 0)");
    cg_line(cg, "const %s d = past%d / (%s)seen - base%d;", type, lead, type, t);
    cg_line(cg, "acc%d += d * d * ((%s)seen * ((%s)fresh / (%s)(seen + fresh)));", t, type, type,
            type);
    cg_close(cg);
}

bool row_tie_follow(Kernel *k, int pass) {
    Cg *cg = k->cg;
    bool any = false;
    for (int i = 0; i < group(k)->n; i++) {
        int t = tensor_of(k, i), lead = leader_of(k, i);
        if (is_tied(k, i, pass, TIE_SCALE)) {
            const char *past = cg_text(cg, "past%d", lead), *now = cg_text(cg, "acc%d", lead);
            cg_line(cg, "acc%d *= %s;", t, scale(k, i, past, now));
            /* No maximum yet: every term is nothing.  */
            cg_line(cg, "const %s base%d = %s == %s ? 0 : %s;", cg_type(type_of(k, i)), t, now,
                    cg_identity(cg, TE_RED_MAX, type_of(k, i)), now);
        } else if (is_tied(k, i, pass, TIE_SHIFT)) {
            follow_mean(k, i);
        } else {
            continue;
        }
        k->at.made[group(k)->center[i]] = cg_text(cg, "base%d", t);
        any = true;
    }
    return any;
}

void row_tie_end(Kernel *k, int pass) {
    Cg *cg = k->cg;
    for (int i = 0; i < group(k)->n; i++) {
        bool shift = is_tied(k, i, pass, TIE_SHIFT);
        if (!shift && !is_tied(k, i, pass, TIE_SCALE)) continue;
        k->at.made[group(k)->center[i]] = NULL;
        if (shift && !is_second(k, i))
            cg_line(cg, "acc%d += past%d;", leader_of(k, i), leader_of(k, i));
    }
    if (shifts(k, pass)) cg_line(cg, "seen += fresh;");
}

void row_tie_keep(Kernel *k, int pass) {
    for (int i = 0; i < group(k)->n; i++) {
        if (!group(k)->tie[i] || group(k)->pass[i] != pass || is_second(k, i)) continue;
        cg_line(k->cg, "const %s own%d = acc%d;", cg_type(type_of(k, i)), leader_of(k, i),
                leader_of(k, i));
    }
}

/* Elements that the threads of a row have seen in this block.  */
static const char *count_of_block(const Kernel *k) {
    if (k->l->r->split == 1) return "N";
    if (row_ends(k))
        return "(min(steps * BN, body) - first * BN + (blockIdx.y == 0 ? N - body : 0))";
    return "(min(steps * BN, N) - first * BN)";
}

void row_tie_correct(Kernel *k, int pass) {
    Cg *cg = k->cg;
    for (int i = 0; i < group(k)->n; i++) {
        int t = tensor_of(k, i), lead = leader_of(k, i);
        const char *own = cg_text(cg, "own%d", lead), *now = cg_text(cg, "acc%d", lead);
        if (is_tied(k, i, pass, TIE_SCALE)) cg_line(cg, "acc%d *= %s;", t, scale(k, i, own, now));
        if (!is_tied(k, i, pass, TIE_SHIFT)) continue;
        const char *type = cg_type(type_of(k, i));
        cg_open(cg, "if (seen > 0)");
        cg_line(cg, "const %s d = %s / (%s)seen - %s / (%s)%s;", type, own, type, now, type,
                count_of_block(k));
        cg_line(cg, "acc%d += d * d * (%s)seen;", t, type);
        cg_close(cg);
    }
}

/* Columns of a slice.  */
static const char *slice_text(const Kernel *k) {
    int64_t step = k->l->r->block.extent[AX_N];
    TeExtent all = size_parts(k->cg->arena, row_columns(k), step);
    TeExtent slice = size_times(k->cg->arena, size_parts(k->cg->arena, all, k->l->r->split),
                                size_number(step));
    if (slice.expr) return cg_text(k->cg, "(long long)%s", size_text(k->cg, slice));
    return cg_text(k->cg, "%lldll", (long long)slice.value);
}

const char *row_tie_slice(Kernel *k, int i, const char *value) {
    Cg *cg = k->cg;
    RowTie tie = group(k)->tie[i];
    if (tie == TIE_NONE) return value;
    int lead = leader_of(k, i);
    const char *part = cg_text(cg, "r%d[s]", lead), *now = cg_text(cg, "acc%d", lead);
    if (tie == TIE_SCALE) return cg_text(cg, "%s * %s", value, scale(k, i, part, now));
    const char *type = cg_type(type_of(k, i));
    const char *columns = slice_text(k);
    const char *all = row_ends(k) ? "body" : "N";
    cg_line(cg, "const %s n = (%s)(max(min((s + 1) * %s, (long long)%s) - s * %s, 0ll)%s);", type,
            type, columns, all, columns, row_ends(k) ? " + (s == 0 ? N - body : 0)" : "");
    cg_line(cg, "const %s d = n > 0 ? %s / n - %s / (%s)N : 0;", type, part, now, type);
    return cg_text(cg, "(%s + d * d * n)", value);
}

void row_tie_settle(Kernel *k, int pass) {
    Cg *cg = k->cg;
    if (k->l->p->extent[AX_N] == 0) return;
    for (int i = 0; i < group(k)->n; i++) {
        if (!is_tied(k, i, pass, TIE_SCALE)) continue;
        /* All are -inf: each term is exp(-inf + inf).  */
        cg_line(cg, "if (%sacc%d == %s) acc%d = %s;", row_columns(k).expr ? "N > 0 && " : "",
                leader_of(k, i), cg_identity(cg, TE_RED_MAX, type_of(k, i)), tensor_of(k, i),
                cg_real(cg, type_of(k, i), (double)NAN));
    }
}
