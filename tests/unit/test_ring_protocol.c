/* links: sim */
/* The barriers of a ring, explored: every order in which the copying warp and the warps that
 * compute of one block or of a cluster can go through the nodes of a lowered kernel, and in which
 * copies can arrive.  None gets stuck, no product reads a stage that is not there, no copy begins
 * into a stage that a product may still read.  */
#include "codegen/lower.h"
#include "kernel_fixture.h"
#include "plan_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

/* ---- what the roles do in a step, from the form ---- */

typedef enum { OP_WAIT, OP_EXPECT, OP_COPY, OP_COMPUTE, OP_PRODUCTS, OP_ARRIVE } OpKind;
typedef struct {
    OpKind kind;
    int id, lag, count;       /* barrier; slots before it; products under way */
    bool primed, shared;
} Op;
enum { OPS = 12, BLOCKS = 2, COMPUTING = 2, STAGES = 4, PARTS = 1 + BLOCKS };
typedef struct {
    Op op[2][OPS];            /* of the role that copies, of those that compute */
    int n[2];
    int stages, blocks, computing;
} Protocol;

static void add_op(Protocol *p, int role, Op op) {
    assert_true(p->n[role] < OPS);
    p->op[role][p->n[role]++] = op;
}

static void add_sync(Protocol *p, int role, const Sync *s) {
    if (s->scope == SYNC_PRODUCTS && s->op == SYNC_WAIT)
        add_op(p, role, (Op){.kind = OP_PRODUCTS, .count = s->count});
    if (s->scope != SYNC_BARRIER) return;
    OpKind kind = s->op == SYNC_WAIT ? OP_WAIT : s->bytes ? OP_EXPECT : OP_ARRIVE;
    assert_int_equal(kind == OP_ARRIVE && p->blocks > 1, s->blocks == p->blocks);
    add_op(p, role, (Op){.kind = kind, .id = s->id, .lag = s->lag, .primed = s->primed});
}

static void add_nodes(Protocol *p, const Node *first, int role, bool in_steps, int shared) {
    for (const Node *n = first; n; n = n->next) {
        bool steps = in_steps || (n->kind == NODE_LOOP && n->what == LOOP_STEPS);
        int of = n->kind == NODE_ROLE ? n->role.first == 0 : role;
        if (in_steps && n->kind == NODE_SYNC) add_sync(p, role, &n->sync);
        if (in_steps && n->kind == NODE_COPY)
            add_op(p, role, (Op){.kind = OP_COPY, .shared = n->of == shared});
        if (in_steps && n->kind == NODE_COMPUTE) add_op(p, role, (Op){.kind = OP_COMPUTE});
        add_nodes(p, n->child, of, steps, shared);
    }
}

/* ---- states ---- */

typedef struct {
    uint8_t at[BLOCKS][1 + COMPUTING], step[BLOCKS][1 + COMPUTING];
    uint8_t phase[2][BLOCKS][STAGES], come[2][BLOCKS][STAGES];    /* of FULL: parts, of EMPTY */
    uint8_t expected[BLOCKS][STAGES];
    uint8_t flying[BLOCKS][STAGES], data[BLOCKS][STAGES][PARTS];  /* step + 1 */
    uint8_t done[BLOCKS][COMPUTING];      /* steps whose products are */
} State;
enum { FULL, EMPTY, SLOTS = 1 << 18 };

typedef struct {
    const Protocol *p;
    int steps;
    State *seen, *stack;
    uint8_t *used;
    int depth, states, ends;
    const char *wrong;
} Explorer;

static int parts(const Protocol *p) { return p->blocks > 1 ? 1 + p->blocks : 2; }

static void visit(Explorer *x, const State *s) {
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < sizeof *s; i++) h = (h ^ ((const uint8_t *)s)[i]) * 1099511628211u;
    size_t at = (size_t)(h >> 24) % SLOTS;
    for (; x->used[at]; at = (at + 1) % SLOTS)
        if (memcmp(&x->seen[at], s, sizeof *s) == 0) return;
    if (++x->states > SLOTS / 2) {
        x->wrong = "more states than there is room for";
        return;
    }
    x->used[at] = 1;
    x->seen[at] = *s;
    x->stack[x->depth++] = *s;
}

static void settle_full(const Explorer *x, State *s, int b, int slot) {
    if (!s->expected[b][slot] || s->come[FULL][b][slot] < parts(x->p)) return;
    s->expected[b][slot] = s->come[FULL][b][slot] = 0;
    s->phase[FULL][b][slot] ^= 1;
}

/* The copy of a part begins: nobody may read what was there before.  */
static void begin(Explorer *x, State *s, int b, int part, int step) {
    int slot = step % x->p->stages;
    for (int w = 0; w < x->p->computing; w++)
        if (step >= x->p->stages && s->done[b][w] <= step - x->p->stages)
            x->wrong = "a copy begins into a stage that a product may read";
    if (s->flying[b][slot] >> part & 1) x->wrong = "two copies of a part are under way";
    s->flying[b][slot] |= (uint8_t)(1u << part);
    s->data[b][slot][part] = (uint8_t)(step + 1);
}

static void compute(Explorer *x, const State *s, int b, int step) {
    int slot = step % x->p->stages;
    for (int part = 0; part < parts(x->p); part++)
        if (s->flying[b][slot] >> part & 1 || s->data[b][slot][part] != step + 1)
            x->wrong = "a product reads a stage that is not there";
}

static void arrive(const Explorer *x, State *s, int slot) {
    for (int b = 0; b < x->p->blocks; b++) {
        if (++s->come[EMPTY][b][slot] < x->p->computing * x->p->blocks) continue;
        s->come[EMPTY][b][slot] = 0;
        s->phase[EMPTY][b][slot] ^= 1;
    }
}

/* Thread t of block b does its next operation; false: it waits.  */
static bool act(Explorer *x, State *s, int b, int t) {
    const Protocol *p = x->p;
    int role = t > 0, step = s->step[b][t], slot = step % p->stages;
    const Op *op = &p->op[role][s->at[b][t]];
    switch (op->kind) {
    case OP_WAIT:
        if (s->phase[op->id][b][slot] == ((step / p->stages + op->primed) & 1)) return false;
        break;
    case OP_EXPECT:
        s->expected[b][slot] = 1;
        settle_full(x, s, b, slot);
        break;
    case OP_COPY:
        for (int to = 0; to < p->blocks; to++)
            if (to == b || op->shared) begin(x, s, to, op->shared ? 1 + b % p->blocks : 0, step);
        break;
    case OP_COMPUTE: compute(x, s, b, step); break;
    case OP_PRODUCTS: s->done[b][t - 1] = (uint8_t)(step + 1 - op->count); break;
    case OP_ARRIVE:
        if (step >= op->lag) arrive(x, s, (step - op->lag) % p->stages);
        break;
    }
    if (++s->at[b][t] < p->n[role]) return true;
    s->at[b][t] = 0;
    s->step[b][t]++;
    return true;
}

static void explore(Explorer *x) {
    const Protocol *p = x->p;
    State start = {0};
    visit(x, &start);
    while (x->depth > 0 && !x->wrong) {
        State s = x->stack[--x->depth];
        bool moves = false, over = true;
        for (int b = 0; b < p->blocks; b++) {
            for (int t = 0; t <= p->computing; t++) {
                State next = s;
                if (s.step[b][t] == x->steps) continue;
                over = false;
                if (!act(x, &next, b, t)) continue;
                moves = true;
                visit(x, &next);
            }
            for (int i = 0; i < p->stages * parts(p); i++) {
                int slot = i / parts(p), part = i % parts(p);
                State next = s;
                if (!(s.flying[b][slot] >> part & 1)) continue;
                next.flying[b][slot] &= (uint8_t)~(1u << part);
                next.come[FULL][b][slot]++;
                settle_full(x, &next, b, slot);
                moves = true;
                visit(x, &next);
            }
        }
        if (!moves && !over) x->wrong = "threads wait for ever";
        x->ends += over && !moves;
    }
}

/* ---- kernels ---- */

static Protocol protocol_of(Arena *a, const Device *dev, int stages, int cluster) {
    KernelCase c = {0};
    Protocol p = {.stages = stages, .blocks = cluster > 1 ? cluster : 1, .computing = 2};
    assert_null(kernel_open(&c, a, dev, "op f(A: bf16[512,512], B: bf16[512,512]) -> C: "
                                        "bf16[512,512] { C[m,n] += A[m,k] * B[n,k]; }", NULL));
    const RProgSet *set = &c.set[0];
    for (int i = 0; i < set->n && p.n[0] == 0; i++) {
        RProg r = set->prog[i];
        if (!rprog_warpgroups(dev, &r) || r.split > 1 || r.cluster) continue;
        r.stages = (uint8_t)stages;
        r.cluster = (uint8_t)cluster;
        if (cluster && !rprog_cluster_order(&c.plan.problem[0], &r)) continue;
        rprog_derive(&c.plan.problem[0], dev, &r);
        if (rprog_check(&c.plan.problem[0], dev, &r)) continue;
        int n;
        c.plan.prog[0] = r;
        Lowered *l = lower_plan(a, &c.plan, dev, &n);
        add_nodes(&p, l->form->root->child, 0, false, p.blocks > 1 ? rprog_cluster_side(&r) : 1);
    }
    assert_true(p.n[0] > 3 && p.n[1] > 3);
    return p;
}

static const char *explored(Arena *a, const Protocol *p, int steps) {
    Explorer x = {.p = p, .steps = steps, .seen = ARENA_ARRAY(a, State, SLOTS),
                  .stack = ARENA_ARRAY(a, State, SLOTS), .used = ARENA_ARRAY(a, uint8_t, SLOTS)};
    explore(&x);
    if (!x.wrong && x.ends == 0) return "no order comes to an end";
    return x.wrong;
}

static void test_protocols(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    const Device *dev = fixture_device(a, "h100");
    for (int stages = 1; stages <= 4; stages++) {
        for (int cluster = 0; cluster <= (stages < 3 ? 2 : 0); cluster += 2) {
            ArenaMark mark = arena_mark(a);
            Protocol p = protocol_of(a, dev, stages, cluster);
            if (cluster) p.computing = 1;
            for (int steps = 1; steps <= stages + 2; steps++) {
                ArenaMark inner = arena_mark(a);
                const char *why = explored(a, &p, steps);
                if (why)
                    fail_msg("%d stages, cluster %d, %d steps: %s", stages, cluster, steps, why);
                arena_reset(a, inner);
            }
            arena_reset(a, mark);
        }
    }
    arena_destroy(a);
}

/* What is left out of the protocol, or shifted, is found.  */
static void test_broken(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Protocol good = protocol_of(a, fixture_device(a, "h100"), 2, 0);
    int tried = 0;
    for (int role = 0; role < 2; role++) {
        for (int i = 0; i < good.n[role]; i++) {
            ArenaMark mark = arena_mark(a);
            Protocol p = good;
            Op *op = &p.op[role][i];
            if (op->kind == OP_WAIT) op->primed = !op->primed;
            else if (op->kind == OP_ARRIVE) op->lag = !op->lag;
            else if (op->kind == OP_PRODUCTS) op->count++;
            else continue;
            tried++;
            if (!explored(a, &p, 5)) fail_msg("role %d, operation %d is not missed", role, i);
            arena_reset(a, mark);
        }
    }
    assert_int_equal(tried, 4);
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_protocols),
        cmocka_unit_test(test_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
