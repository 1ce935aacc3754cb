/* What a kernel takes, and what it calls it.
 *
 * The tensors of a group have numbers of its own, in an order that its statements alone decide, and
 * a kernel takes what its text names.  So groups that do the same to other tensors have the same
 * text, and one kernel.  */
#include "codegen/expr/expr.h"

/* INSIDE: of values that are in no memory.  */
typedef enum { USED_INPUT, USED_READ, USED_SCALAR, USED_OUTPUT, USED_MADE, USED_INSIDE } Use;

typedef struct Variable {
    int what, tensor;
    Ir name;
    const struct Variable *next;
} Variable;

struct CgParams {
    int *number, *tensor;     /* per tensor, -1: it is none of the kernel's; per number */
    Use *use;                 /* per number */
    bool *read, *taken;       /* per number: by the group's statements; named by the text */
    bool *size;               /* per size: named by the text */
    bool partials;
    Ir *name, *size_name;     /* per number, per size */
    Ir w;                     /* the group's partial results */
    Ir map[CG_MOST_MAPS];
    const Variable *variable;
    int n, n_size;
};

/* ---- numbers ---- */

static void add(CgParams *x, int tensor) {
    if (x->number[tensor] >= 0) return;
    x->number[tensor] = x->n;
    x->tensor[x->n++] = tensor;
}

static void add_reads(CgParams *x, const TeExpr *e) {
    if (e->kind == TE_READ || e->kind == TE_SCALAR) {
        add(x, e->v.ref);
        x->read[x->number[e->v.ref]] = true;
    }
    for (int i = 0; i < e->n_args; i++) add_reads(x, e->args[i]);
    if (e->other) add_reads(x, e->other);
}

static Use use_of(const Cg *c, int tensor, bool made) {
    TeRole role = c->te->tensor[tensor].role;
    if (role == TE_VALUE) return USED_SCALAR;
    if (role == TE_INPUT) return USED_INPUT;
    if (!made) return USED_READ;
    return role == TE_OUTPUT ? USED_OUTPUT : c->temp_at[tensor] >= 0 ? USED_MADE : USED_INSIDE;
}

/* By use; arguments as the op has them, temporaries in order of appearance.  */
static bool comes_before(const CgParams *x, int i, int j) {
    if (x->use[i] != x->use[j]) return x->use[i] < x->use[j];
    bool declared = x->use[i] == USED_INPUT || x->use[i] == USED_SCALAR ||
                    x->use[i] == USED_OUTPUT;
    return declared ? x->tensor[i] < x->tensor[j] : i < j;
}

/* What the statements name, in order of appearance.  */
static void find(const Cg *c, const KernelGroup *g, CgParams *out) {
    const Te *te = c->te;
    for (int i = 0; i <= g->n_fused; i++)
        add_reads(out, te->stmt[i ? g->fused[i - 1] : g->root].rhs);
    for (int i = 0; i < out->n; i++) out->use[i] = use_of(c, out->tensor[i], false);
    for (int i = 0; i <= g->n_fused; i++) {
        int t = te->stmt[i ? g->fused[i - 1] : g->root].tensor;
        add(out, t);
        out->use[out->number[t]] = use_of(c, t, true);
    }
}

static CgParams new_params(Arena *a, const Te *te) {
    CgParams x = {.number = ARENA_ARRAY(a, int, te->n_tensor),
                  .tensor = ARENA_ARRAY(a, int, te->n_tensor),
                  .use = ARENA_ARRAY(a, Use, te->n_tensor),
                  .read = ARENA_ARRAY(a, bool, te->n_tensor),
                  .taken = ARENA_ARRAY(a, bool, te->n_tensor),
                  .size = ARENA_ARRAY(a, bool, te->n_size + 1),
                  .n_size = te->n_size};
    for (int t = 0; t < te->n_tensor; t++) x.number[t] = -1;
    return x;
}

static Ir tensor_of(const Cg *c, const CgParams *x, int number) {
    IrBase base = ir_storage(c->te->tensor[x->tensor[number]].dtype);
    IrType type = x->use[number] == USED_SCALAR
                      ? ir_type(base)
                      : ir_pointer(base, IR_GLOBAL, x->use[number] == USED_INPUT);
    return ir_name(c, type, ir_numbered(c, "t", number));
}

static void make_names(const Cg *c, CgParams *x) {
    x->name = ARENA_ARRAY(c->arena, Ir, x->n);
    x->size_name = ARENA_ARRAY(c->arena, Ir, x->n_size);
    for (int i = 0; i < x->n; i++) x->name[i] = tensor_of(c, x, i);
    for (int i = 0; i < x->n_size; i++)
        x->size_name[i] = ir_name(c, ir_type(IR_I32), ir_numbered(c, "s", i));
    x->w = ir_name(c, ir_pointer(IR_U8, IR_GLOBAL, false), "w");
    for (int i = 0; i < CG_MOST_MAPS; i++)
        x->map[i] = ir_name(c, ir_type(IR_VOID), ir_numbered(c, "map", i));
}

void cg_open_params(Cg *c, const KernelGroup *g) {
    CgParams seen = new_params(c->arena, c->te), *x = ARENA_NEW(c->arena, CgParams);
    find(c, g, &seen);
    *x = new_params(c->arena, c->te);
    x->n = seen.n;
    for (int i = 0; i < seen.n; i++) {
        int to = 0;
        for (int j = 0; j < seen.n; j++) to += j != i && comes_before(&seen, j, i);
        x->number[seen.tensor[i]] = to;
        x->tensor[to] = seen.tensor[i];
        x->use[to] = seen.use[i];
        x->read[to] = seen.read[i];
    }
    make_names(c, x);
    c->params = x;
}

/* ---- what the text names ---- */

const char *cg_name(const Cg *c, const char *stem, int tensor) {
    return ir_numbered(c, stem, c->params->number[tensor]);
}

Ir cg_variable(const Cg *c, int what, const char *word, int tensor, IrType type) {
    for (const Variable *v = c->params->variable; v; v = v->next) {
        IrType own = v->name->type;
        if (v->what == what && v->tensor == tensor && own.rank == type.rank &&
            own.space == type.space)
            return v->name;
    }
    Variable *v = ARENA_NEW(c->arena, Variable);
    Ir name = ir_name(c, type, tensor < 0 ? word : cg_name(c, word, tensor));
    *v = (Variable){what, tensor, name, c->params->variable};
    c->params->variable = v;
    return name;
}

Ir cg_tensor(const Cg *c, int tensor) {
    int number = c->params->number[tensor];
    c->params->taken[number] = true;
    return c->params->name[number];
}

/* Where no kernel is at hand the text is one for people.  */
Ir cg_size(const Cg *c, int size) {
    if (!c->params) return ir_given(c, ir_type(IR_I32), ir_numbered(c, "s", size));
    c->params->size[size] = true;
    return c->params->size_name[size];
}

Ir cg_partials(const Cg *c) {
    c->params->partials = true;
    return c->params->w;
}

Ir cg_map(const Cg *c, int number) { return ir_unary(c, IR_ADDRESS, c->params->map[number]); }

static void anew(Cg *c, Ir pointer) {
    ir_set(c, pointer, ir_call(c, pointer->type, "rl_behind", 1, pointer));
}

void cg_behind(Cg *c) {
    const CgParams *x = c->params;
    if (x->partials) anew(c, x->w);
    for (int i = 0; i < x->n; i++) {
        bool made = x->use[i] != USED_INPUT && x->use[i] != USED_SCALAR;
        if (made && x->taken[i] && x->read[i]) anew(c, x->name[i]);
    }
}

/* ---- parameters ---- */

static KernelParam param_of(const Cg *c, int number) {
    const CgParams *x = c->params;
    int t = x->tensor[number];
    int64_t at = c->temp_at[t];
    if (x->use[number] == USED_SCALAR)
        return (KernelParam){PARAM_SCALAR, t, te_dtype_bytes(c->te->tensor[t].dtype), 0};
    if (at >= 0) return (KernelParam){PARAM_WORKSPACE, -1, 8, at};
    return (KernelParam){x->use[number] == USED_INPUT ? PARAM_INPUT : PARAM_OUTPUT, t, 8, 0};
}

static void take(CgTaken *all, KernelParam own, Ir name) {
    all->name[all->n] = name;
    all->param[all->n++] = own;
}

CgTaken cg_params(const Cg *c, int n_map) {
    const CgParams *x = c->params;
    int most = x->n + x->n_size + 1 + n_map;
    CgTaken all = {ARENA_ARRAY(c->arena, KernelParam, most), ARENA_ARRAY(c->arena, Ir, most), 0};
    for (int i = 0, size = 0; i < x->n || size < x->n_size;) {
        bool sizes = i == x->n || x->use[i] >= USED_SCALAR;
        if (sizes && size < x->n_size) {
            if (x->size[size])
                take(&all, (KernelParam){PARAM_SIZE, size, 4, 0}, x->size_name[size]);
            size++;
        } else {
            if (x->taken[i]) take(&all, param_of(c, i), x->name[i]);
            i++;
        }
    }
    if (x->partials)
        take(&all, (KernelParam){PARAM_WORKSPACE, -1, 8, c->sums_at}, x->w);
    for (int i = 0; i < n_map; i++)
        take(&all, (KernelParam){PARAM_MAP, i, TM_BYTES, 0}, x->map[i]);
    return all;
}
