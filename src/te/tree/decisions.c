#include "te/te.h"

const char *const te_decision_name[TE_DECISION_COUNT] = {
#define X(id, name) name,
    TE_DECISIONS(X)
#undef X
};

bool te_takes(const Te *te, const TeStmt *s, TeDecision d) {
    TeDecisions *x = te->decisions;
    if (!x) return false;
    x->possible[s->site] |= (TeDecided)(1u << d);
    return x->taken[s->site] >> d & 1;
}

const char *te_decisions_text(Arena *a, const Te *te) {
    const TeDecisions *x = te->decisions;
    const char *comma = "";
    Buf out = buf_new(a);
    for (int i = 0; x && i < x->n; i++) {
        for (int d = 0; d < TE_DECISION_COUNT; d++) {
            if (!(te_taken(x, i) >> d & 1)) continue;
            buf_printf(&out, "%s%s %s", comma, x->name[i], te_decision_name[d]);
            comma = " + ";
        }
    }
    return *comma ? buf_str(&out) : "usual";
}

bool te_same_decisions(const Te *te, const Te *other) {
    const TeDecisions *x = te->decisions, *y = other->decisions;
    bool same = x && y && x->n == y->n;
    for (int i = 0; same && i < x->n; i++) same = te_taken(x, i) == te_taken(y, i);
    return same;
}
