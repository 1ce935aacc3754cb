#include "codegen/expr/survey.h"
#include <string.h>

enum { MAX_HEIGHT = 24 }; /* parts of deeper expressions get names */

/* A run-time `let` stands for its definition.  */
static const TeExpr *resolve(const Survey *s, const TeExpr *e) {
    while (e->kind == TE_SIZE) {
        const TeSize *size = &s->cg->te->size[e->v.ref];
        if (size->kind != TE_SIZE_LET || !size->extent.expr) break;
        e = size->expr;
    }
    return e;
}

Ir survey_read(const Survey *s, const TeExpr *e, Ir element) {
    TeDtype stored = te_dtype_compute(s->cg->te->tensor[e->v.ref].dtype);
    if (e->type == TE_I64 && stored == TE_I32) return ir_as(s->cg, IR_I64, element);
    return cg_convert(s->cg, e->type, stored, element);
}

static Ir given_value(const Survey *s, const TeExpr *e) {
    Ir x = NULL;
    for (int i = 0; i < s->at->n_given && !x; i++) {
        if (access_same(s->at->given[i].expr, e)) x = s->at->given[i].value;
    }
    if (e->kind != TE_READ) return x;
    if (!x && s->at->made) x = s->at->made[e->v.ref];
    return x ? survey_read(s, e, x) : NULL;
}

/* ---- the table of nodes ---- */

static size_t slot_of(const Survey *s, const TeExpr *e) {
    size_t i = (size_t)(((uintptr_t)e >> 4) * 0x9e3779b97f4a7c15u) & (s->slots - 1);
    while (s->key[i] && s->key[i] != e) i = (i + 1) & (s->slots - 1);
    return i;
}

static int seen(const Survey *s, const TeExpr *e) {
    size_t i = slot_of(s, e);
    return s->key[i] ? s->id[i] : -1;
}

static uint64_t structure(const Value *v) {
    const TeExpr *e = v->e;
    uint64_t h = (uint64_t)e->kind * 31 + (uint64_t)e->type;
    h = h * 31 + (uint64_t)e->store;
    if (e->kind == TE_INT || e->kind == TE_BOOLEAN) h = h * 31 + (uint64_t)e->v.i;
    for (int i = 0; i < v->n_child; i++) h = (h ^ (uint64_t)v->child[i]) * 0x100000001b3u;
    return h * 0x9e3779b97f4a7c15u;
}

static bool same_payload(const TeExpr *x, const TeExpr *y) {
    switch (x->kind) {
    case TE_INT:
    case TE_BOOLEAN: return x->v.i == y->v.i;
    case TE_REAL: return memcmp(&x->v.r, &y->v.r, sizeof x->v.r) == 0;
    case TE_SIZE:
    case TE_INDEX:
    case TE_SCALAR: return x->v.ref == y->v.ref;
    case TE_READ: return x->v.ref == y->v.ref && x->inside == y->inside && !x->other == !y->other;
    case TE_CALL: return x->v.fn == y->v.fn;
    default: return true;
    }
}

static bool same_value(const Value *x, const Value *y) {
    return x->e->kind == y->e->kind && x->e->type == y->e->type && x->e->store == y->e->store &&
           x->n_child == y->n_child && same_payload(x->e, y->e) &&
           (x->n_child == 0 ||
            memcmp(x->child, y->child, (size_t)x->n_child * sizeof *x->child) == 0);
}

static void grow_tables(Survey *s) {
    size_t old = s->slots;
    const TeExpr **key = s->key;
    int *id = s->id;
    s->slots = old ? old * 2 : 64;
    s->key = arena_calloc(s->cg->arena, s->slots, sizeof *s->key);
    s->id = ARENA_ARRAY(s->cg->arena, int, s->slots);
    s->bucket = ARENA_ARRAY(s->cg->arena, int, s->slots);
    for (size_t i = 0; i < old; i++) {
        if (!key[i]) continue;
        size_t at = slot_of(s, key[i]);
        s->key[at] = key[i];
        s->id[at] = id[i];
    }
    for (int v = 0; v < s->n_value; v++) {
        size_t i = (size_t)structure(&s->value[v]) & (s->slots - 1);
        while (s->bucket[i]) i = (i + 1) & (s->slots - 1);
        s->bucket[i] = v + 1;
    }
}

/* The value equal to *v, which becomes a new one if there is none.  */
static int intern(Survey *s, const Value *v) {
    size_t i = (size_t)structure(v) & (s->slots - 1);
    for (; s->bucket[i]; i = (i + 1) & (s->slots - 1)) {
        Value *old = &s->value[s->bucket[i] - 1];
        if (same_value(old, v)) {
            old->always |= v->always;
            return s->bucket[i] - 1;
        }
    }
    s->value =
        arena_grow(s->cg->arena, s->value, &s->cap_value, (size_t)s->n_value + 1, sizeof *s->value);
    s->value[s->n_value] = *v;
    s->bucket[i] = ++s->n_value;
    return s->n_value - 1;
}

/* ---- the walk ---- */

static int child_count(const TeExpr *e) { return e->n_args + (e->other ? 1 : 0); }

/* Is child i evaluated only if some condition says so?  */
static bool is_conditional(const TeExpr *e, int i) {
    switch (e->kind) {
    case TE_SELECT:
    case TE_AND:
    case TE_OR: return i > 0;
    case TE_READ: return i >= e->n_args;
    default: return false;
    }
}

static bool is_leaf(const TeExpr *e) { return e->kind <= TE_SCALAR; }

static void finish(Survey *s, const TeExpr *e, bool always, Ir given) {
    Value v = {.e = e, .always = always, .value = given};
    if (!given) {
        v.n_child = child_count(e);
        v.child = ARENA_ARRAY(s->cg->arena, int, v.n_child);
    }
    for (int i = 0; i < v.n_child; i++)
        v.child[i] = seen(s, resolve(s, i < e->n_args ? e->args[i] : e->other));
    if (given) { /* equal given values need no interning */
        s->value = arena_grow(s->cg->arena, s->value, &s->cap_value, (size_t)s->n_value + 1,
                              sizeof *s->value);
        s->value[s->n_value++] = v;
    }
    int id = given ? s->n_value - 1 : intern(s, &v);
    if (2 * ++s->filled >= s->slots) grow_tables(s);
    size_t at = slot_of(s, e);
    s->key[at] = e;
    s->id[at] = id;
}

typedef struct {
    const TeExpr *e;
    int next;
    bool always;
} Step;

/* Children before parents, without recursion: expressions may be long chains.  */
static int walk(Survey *s, const TeExpr *root) {
    Step *stack = NULL;
    size_t cap = 0;
    int n = 0;
    root = resolve(s, root);
    stack = arena_grow(s->cg->arena, stack, &cap, 1, sizeof *stack);
    stack[n++] = (Step){root, 0, true};
    while (n > 0) {
        Step *top = &stack[n - 1];
        Ir given = top->next == 0 ? given_value(s, top->e) : NULL;
        if (given || top->next == child_count(top->e)) {
            if (seen(s, top->e) < 0) finish(s, top->e, top->always, given);
            n--;
            continue;
        }
        int i = top->next++;
        const TeExpr *child = resolve(s, i < top->e->n_args ? top->e->args[i] : top->e->other);
        if (seen(s, child) >= 0) continue;
        bool always = top->always && !is_conditional(top->e, i);
        stack = arena_grow(s->cg->arena, stack, &cap, (size_t)n + 1, sizeof *stack);
        stack[n++] = (Step){child, 0, always};
    }
    return seen(s, root);
}

/* Is e all that a statement evaluates, so that a read stands below its conditions?  */
static bool is_whole(const CgPoint *at, const TeExpr *e) {
    const TeExpr *rhs = at->stmt ? at->stmt->rhs : NULL;
    return rhs && (e == rhs || (rhs->kind == TE_REDUCE && e == rhs->args[0]));
}

bool survey_tests(const Survey *s, const TeExpr *read) {
    if (read->inside == TE_INSIDE_GIVEN) return s->force || !s->whole;
    return s->force || !te_always_inside(read);
}

/* Subscripts that are tested are used twice.  */
static bool tests_subscripts(const Survey *s, const TeExpr *e) {
    return e->kind == TE_READ && survey_tests(s, e);
}

void survey(Survey *s, const CgPoint *at, const TeExpr *e, int *root) {
    *s = (Survey){.at = at, .cg = at->cg, .whole = is_whole(at, e)};
    grow_tables(s);
    *root = walk(s, e);
    for (int i = 0; i < s->n_value; i++) {
        Value *v = &s->value[i];
        value_range(s, v);
        for (int k = 0; k < v->n_child; k++)
            s->value[v->child[k]].uses += tests_subscripts(s, v->e) && k < v->e->n_args ? 2 : 1;
    }
}

/* Defines every value that deserves a name.  */
static void name_values(Survey *s, int root) {
    for (int i = 0; i < s->n_value; i++) {
        Value *v = &s->value[i];
        for (int k = 0; k < v->n_child; k++) {
            const Value *child = &s->value[v->child[k]];
            if (!child->value && child->height + 1 > v->height) v->height = child->height + 1;
        }
        bool shared = v->uses > 1 && !is_leaf(v->e);
        if (v->value || i == root || (!shared && v->height < MAX_HEIGHT)) continue;
        s->force = !v->always;
        Ir x = value_of(s, i);
        s->force = false;
        v->value = ir_let_as(s->cg, value_type(v), ir_numbered(s->cg, "v", s->cg->names++), x);
        v->height = 0;
    }
}

Ir cg_expr(const CgPoint *p, const TeExpr *e, TeDtype to) {
    Survey s;
    int root;
    survey(&s, p, e, &root);
    name_values(&s, root);
    return value_as(&s, root, to);
}

Ir cg_tested(const CgPoint *p, const TeExpr *read, int d, int64_t *by) {
    Survey s;
    int root;
    survey(&s, p, read->args[d], &root);
    name_values(&s, root);
    return survey_subscript(&s, root, by);
}

Ir cg_outside(const CgPoint *p, const TeExpr *other, TeDtype type) {
    return other ? cg_expr(p, other, type) : cg_int(p->cg, type, 0);
}

Ir cg_extent(const Cg *c, const TeExtent *e) {
    if (!e->expr) return cg_int(c, TE_I64, e->value);
    Cg copy = *c;
    CgPoint p = {.cg = &copy};
    Survey s;
    int root;
    survey(&s, &p, e->expr, &root);
    return value_of(&s, root);
}
