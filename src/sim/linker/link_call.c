/* Linking of calls: which functions a kernel needs, their frames, what goes in and out.  */
#include "sim/lane/builtin.h"
#include "sim/linker/link.h"
#include "sim/ptx/ptx_parse.h"
#include <string.h>

static uint32_t round16(int64_t bytes) { return (uint32_t)((bytes + 15) / 16 * 16); }

static SimFuncCode *find_func(SimLink *k, const PtxFunc *f) {
    for (size_t n = 0; n < k->n_func; n++) {
        if (k->func[n].f == f) return &k->func[n];
    }
    return NULL;
}

/* ---- what a call may reach ---- */

static bool same_list(PtxSymbol *const *a, int n_a, PtxSymbol *const *b, int n_b) {
    bool same = n_a == n_b;
    for (int e = 0; same && e < n_a; e++) same = a[e]->bytes == b[e]->bytes;
    return same;
}

/* Whether a function whose address somebody has may be meant by an indirect call.  */
static bool may_be(const PtxFunc *prototype, const PtxFunc *f) {
    if (!f->defined || f->kernel || !f->taken) return false;
    for (size_t e = 0; e < prototype->n_callee; e++) {
        if (prototype->callee[e] == f) return true;
    }
    return prototype->n_callee == 0 &&
           same_list(prototype->param, prototype->n_param, f->param, f->n_param) &&
           same_list(prototype->result, prototype->n_result, f->result, f->n_result);
}

/* The next function after `f` (NULL: the first one) that the call may reach.  */
static const PtxFunc *next_callee(const PtxModule *m, const PtxInst *i, const PtxFunc *f) {
    for (int o = 0; i->op == OP_CALL && o < i->n_opnd; o++) {
        const PtxOpnd *x = &i->opnd[o];
        if (x->kind == OPND_FUNC) return f || !x->func->defined ? NULL : x->func;
        if (x->kind != OPND_PROTOTYPE) continue;
        for (f = f ? f->next : m->func; f; f = f->next) {
            if (may_be(x->func, f)) return f;
        }
    }
    return NULL;
}

static void add_func(SimLink *k, const PtxFunc *f) {
    if (find_func(k, f)) return;
    k->func = arena_grow(k->l.arena, k->func, &k->cap_func, k->n_func + 1, sizeof *k->func);
    k->func[k->n_func++] = (SimFuncCode){.f = f};
}

/* Marks what `from` can reach; a function that reaches itself is recursive.  */
static void reach(SimLink *k, SimFuncCode *from) {
    ArenaMark mark = arena_mark(k->l.arena);
    bool *seen = ARENA_ARRAY(k->l.arena, bool, k->n_func);
    SimFuncCode **todo = ARENA_ARRAY(k->l.arena, SimFuncCode *, k->n_func + 1);
    size_t n = 0;
    for (todo[n++] = from; n > 0;) {
        const PtxFunc *f = todo[--n]->f;
        for (size_t e = 0; e < f->n_inst; e++) {
            const PtxFunc *to = NULL;
            while ((to = next_callee(k->l.m, &f->inst[e], to))) {
                SimFuncCode *u = find_func(k, to);
                if (u == from) from->recursive = true;
                if (seen[u - k->func]) continue;
                seen[u - k->func] = true;
                if (u != from) todo[n++] = u;
            }
        }
    }
    arena_reset(k->l.arena, mark);
}

void sim_link_funcs(SimLink *k, const PtxFunc *kernel) {
    add_func(k, kernel);
    for (size_t n = 0; n < k->n_func; n++) {
        const PtxFunc *f = k->func[n].f;
        for (size_t e = 0; e < f->n_inst; e++) {
            const PtxFunc *to = NULL;
            while ((to = next_callee(k->l.m, &f->inst[e], to))) add_func(k, to);
            PtxOp op = f->inst[e].op;
            if (op != OP_ALLOCA && op != OP_STACKSAVE && op != OP_STACKRESTORE) continue;
            k->l.kernel->stack = true;       /* what it takes goes back with its frame */
            k->func[n].recursive = n > 0;
        }
    }
    for (size_t n = 1; n < k->n_func; n++) reach(k, &k->func[n]);
}

/* ---- frames ---- */

static void save(SimFrame *frame, Slot slot, int bits, int64_t *bytes) {
    for (int n = 0; n < frame->n_saved; n++) {
        if (frame->saved[n].slot == slot) return;
    }
    SimSaved *to = (SimSaved *)frame->saved + frame->n_saved++;
    *to = (SimSaved){slot, (uint8_t)bits};
    *bytes += bits <= 32 ? 4 : bits / 8;
}

void sim_link_stack(SimLink *k, SimFuncCode *u) {
    const PtxFunc *f = u->f;
    SimFrame *frame = &u->frame;
    frame->base = k->file_bytes;
    k->file_bytes += 128;
    frame->saved = ARENA_ARRAY(k->l.arena, SimSaved, f->n_reg + 2);
    int64_t bytes = 0;
    save(frame, frame->base, 32, &bytes);
    save(frame, u->link, 32, &bytes);
    for (size_t r = 0; r < f->n_reg; r++) {
        save(frame, u->slot[r], sim_type_bits(f->reg[r].type), &bytes);
    }
    frame->variables = round16(f->frame_bytes);
    frame->bytes = frame->variables + round16(bytes);
    k->l.kernel->stack = true;
}

/* ---- a call ---- */

typedef struct {
    const PtxOpnd *out, *name, *in, *prototype;       /* NULL: absent */
} Written;

/* call (results), name, (arguments), prototype;  all but the name may be absent.  */
static bool written(SimLink *k, const PtxInst *p, Written *x) {
    int at = 0;
    *x = (Written){0};
    if (at < p->n_opnd && p->opnd[at].kind == OPND_LIST) x->out = &p->opnd[at++];
    if (at < p->n_opnd) x->name = &p->opnd[at++];
    if (at < p->n_opnd && p->opnd[at].kind == OPND_LIST) x->in = &p->opnd[at++];
    if (at < p->n_opnd && p->opnd[at].kind == OPND_PROTOTYPE) x->prototype = &p->opnd[at++];
    bool direct = x->name && x->name->kind == OPND_FUNC;
    bool indirect = x->name && x->name->kind == OPND_REG && x->prototype;
    if ((direct || indirect) && at == p->n_opnd) return true;
    return sim_link_error(&k->l, p, "is neither a call by name nor one by address and prototype");
}

/* The variables of the caller that are passed, one for each parameter of the callee.  */
static bool check_list(SimLink *k, const PtxInst *p, const PtxOpnd *list, PtxSymbol *const *formal,
                       int n_formal) {
    int n = list ? list->n : 0;
    if (n != n_formal) return sim_link_error(&k->l, p, "has a wrong number of arguments");
    for (int e = 0; e < n; e++) {
        const PtxOpnd *o = &list->elem[e];
        bool frame = o->kind == OPND_SYMBOL && o->symbol->space == SPACE_LOCAL;
        if (frame && o->symbol->bytes >= formal[e]->bytes) continue;
        return sim_link_error(&k->l, p, "passes what is not a .param variable of the right size");
    }
    return true;
}

static SimCopy *copies(SimLink *k, const SimFuncCode *u, const PtxOpnd *list,
                       PtxSymbol *const *formal, const SimFuncCode *callee, bool back) {
    int n = list ? list->n : 0;
    SimCopy *out = ARENA_ARRAY(k->l.arena, SimCopy, n + 1);
    for (int e = 0; e < n; e++) {
        int64_t mine = u->at + list->elem[e].symbol->offset, its = callee->at + formal[e]->offset;
        out[e] = back ? (SimCopy){its, mine, formal[e]->bytes}
                      : (SimCopy){mine, its, formal[e]->bytes};
    }
    return out;
}

static bool add_callee(SimLink *k, const SimFuncCode *u, const PtxInst *p, const Written *x,
                       const PtxFunc *f, SimCallee *out) {
    const SimFuncCode *callee = find_func(k, f);
    if (!check_list(k, p, x->in, f->param, f->n_param) ||
        !check_list(k, p, x->out, f->result, f->n_result)) {
        return false;
    }
    *out = (SimCallee){.address = sim_code_address(f), .start = callee->start[0],
                       .in = copies(k, u, x->in, f->param, callee, false),
                       .out = copies(k, u, x->out, f->result, callee, true),
                       .link = callee->link, .frame = &callee->frame};
    return true;
}

static bool link_builtin(SimLink *k, const SimFuncCode *u, SimInst *i, const PtxInst *p,
                         const Written *x) {
    const PtxFunc *f = x->name->func;
    SimExec *exec = sim_builtin(f);
    if (!exec) return sim_link_error(&k->l, p, "calls %s, which has no body", f->name);
    if (!check_list(k, p, x->in, f->param, f->n_param) ||
        !check_list(k, p, x->out, f->result, f->n_result)) {
        return false;
    }
    SimBuiltinCall *c = ARENA_NEW(k->l.arena, SimBuiltinCall);
    c->base = u->frame.base;
    for (int e = 0; e < f->n_param; e++) c->in[e] = u->at + x->in->elem[e].symbol->offset;
    c->out = x->out ? u->at + x->out->elem[0].symbol->offset : -1;
    i->exec = exec;
    i->extra = c;
    return true;
}

bool sim_link_call(SimLink *k, const SimFuncCode *u, SimInst *i, const PtxInst *p) {
    Written x;
    if (!written(k, p, &x)) return false;
    i[1] = i[2] = (SimInst){.exec = sim_exec_join, .guard = SLOT_NONE, .pipe = SIM_PIPE_COUNT,
                            .ptx = p};
    if (!x.prototype && !x.name->func->defined) return link_builtin(k, u, i, p, &x);
    SimCall *c = ARENA_NEW(k->l.arena, SimCall);
    *c = (SimCall){.n_in = x.in ? x.in->n : 0, .n_out = x.out ? x.out->n : 0,
                   .base = u->frame.base};
    size_t cap = 0;
    const PtxFunc *f = NULL;
    while ((f = next_callee(k->l.m, p, f))) {
        c->callee = arena_grow(k->l.arena, c->callee, &cap, (size_t)c->n_callee + 1,
                               sizeof *c->callee);
        if (!add_callee(k, u, p, &x, f, &c->callee[c->n_callee++])) return false;
    }
    i->extra = c;
    i[1].exec = sim_exec_return_values;
    i[1].extra = c;
    if (!x.prototype) return true;
    i->exec = sim_exec_call_indirect;
    i->a = u->slot[x.name->reg];
    return sim_type_bits(u->f->reg[x.name->reg].type) == 64 ||
           sim_link_error(&k->l, p, "needs an address of 64 bits");
}
