/* links: sim */
/* The barriers of a ring, explored: every order in which the copying warp and the warps that
 * compute of one block or of a cluster can go through the nodes of a lowered kernel, tile by tile
 * where blocks stay, and in which copies can arrive.  None gets stuck, no product reads a stage
 * that is not there, no copy begins into a stage that a product may still read, no wait takes a
 * phase of a barrier for another.  */
#include "codegen/lower/lower.h"
#include "kernel_fixture.h"
#include "plan_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

/* ---- what threads do, one after the other, from the form ---- */

typedef enum { OP_WAIT, OP_EXPECT, OP_COPY, OP_COMPUTE, OP_PRODUCTS, OP_ARRIVE, OP_TURN, OP_GIVE }
    OpKind;
typedef struct {
    OpKind kind;
    int id, lag, count;       /* barrier, or team; slots before it; products under way */
    int step, own;            /* of all tiles; steps begun by the thread */
    bool shared;
} Op;
enum { OPS = 250, BLOCKS = 4, COMPUTING = 2, THREADS = 1 + COMPUTING, STAGES = 4,
       PARTS = 1 + BLOCKS };
/* One warp copies; those that compute take all tiles together, or in turn.  */
typedef struct {
    const Form *form;
    int shared;               /* the operand that blocks of a cluster share */
    int stages, blocks, computing, in_turn, steps, tiles;
    Op op[THREADS][OPS];
    int n[THREADS];
} Protocol;

typedef struct {
    Protocol *p;
    int thread, tile, step, steps, turn, own;             /* steps: of the tile */
    int slices;               /* groups of products that a step has */
    bool inside;              /* of its role */
} Listing;

static void add_op(Listing *x, Op op) {
    Protocol *p = x->p;
    assert_true(p->n[x->thread] < OPS);
    op.step = x->step;
    op.own = x->own;
    p->op[x->thread][p->n[x->thread]++] = op;
}

static void list_sync(Listing *x, const Node *n) {
    const Sync *s = &n->sync;
    const Protocol *p = x->p;
    int team = x->thread - 1;
    if (n->when == WHEN_LATER && x->turn == 0) return;
    if (n->when == WHEN_AGAIN && x->tile == 0) return;
    if (n->when == WHEN_FOLLOWED && x->tile + 1 >= p->tiles) return;
    if (s->scope == SYNC_PRODUCTS && s->op == SYNC_WAIT)
        add_op(x, (Op){.kind = OP_PRODUCTS, .count = (s->count + x->slices - 1) / x->slices});
    if (s->scope == SYNC_NAMED && s->team)
        add_op(x, (Op){.kind = s->op == SYNC_BOTH ? OP_TURN : OP_GIVE,
                       .id = s->team == TEAM_OWN ? team : !team});
    if (s->scope != SYNC_BARRIER) return;
    OpKind kind = s->op == SYNC_WAIT ? OP_WAIT : s->bytes ? OP_EXPECT : OP_ARRIVE;
    assert_int_equal(kind == OP_ARRIVE && p->blocks > 1, s->blocks == p->blocks);
    add_op(x, (Op){.kind = kind, .id = s->id, .lag = s->lag});
}

static void list_nodes(Listing *x, const Node *first);

static void list_tiles(Listing *x, const Node *n) {
    bool in_turn = x->thread > 0 && x->p->in_turn > 1;
    for (int i = 0, before = 0; i < x->p->tiles; i++, before += x->steps) {
        x->tile = i;
        x->step = before;
        x->steps = x->p->steps;
        if (n->from && i % 2 && x->steps > 1) x->steps--;         /* a segment of one */
        if (!in_turn || i % 2 == x->thread - 1) list_nodes(x, n->child);
    }
}

static void list_nodes(Listing *x, const Node *first) {
    for (const Node *n = first; n; n = n->next) {
        int slices = x->slices;
        bool was = x->inside, steps = n->kind == NODE_LOOP && n->what == LOOP_STEPS;
        if (n->kind == NODE_ROLE) x->inside = (n->role.first == 0) == (x->thread > 0);
        if (n->kind == NODE_ROLE && !x->inside) continue;
        if (n->kind == NODE_LOOP && n->what == LOOP_TILES) {
            if (x->inside) list_tiles(x, n);
        } else {
            if (x->inside && n->kind == NODE_SYNC) list_sync(x, n);
            if (n->kind == NODE_LOOP && n->loop.of == TURNS_BODIES) x->slices = (int)n->loop.count;
            if (x->inside && n->kind == NODE_COPY && n->of >= 0 && n->done == DONE_BARRIER)
                add_op(x, (Op){.kind = OP_COPY, .shared = n->of == x->p->shared});
            if (x->inside && n->kind == NODE_COMPUTE) {
                x->own++;
                add_op(x, (Op){.kind = OP_COMPUTE});
            }
            for (int i = 0; i < (steps ? x->steps : 1); i++) {
                if (steps) x->turn = i;
                list_nodes(x, n->child);
                x->step += steps;
            }
        }
        x->inside = was;
        x->slices = slices;
    }
}

static void list_ops(Protocol *p, int steps, int tiles) {
    p->steps = steps;
    p->tiles = tiles;
    for (int t = 0; t <= p->computing; t++) {
        p->n[t] = 0;
        list_nodes(&(Listing){.p = p, .thread = t, .steps = steps, .slices = 1},
                   p->form->root->child);
    }
}

/* Steps of those before `step` that the thread computes.  */
static int own_steps(const Protocol *p, int thread, int step) {
    int n = 0;
    for (int s = 0; s < step; s++)
        n += p->in_turn == 1 || s / p->steps % 2 == thread;
    return n;
}

/* ---- states ---- */

typedef struct {
    uint8_t at[BLOCKS][THREADS], given[BLOCKS][COMPUTING];
    uint8_t phase[2][BLOCKS][STAGES], come[BLOCKS][STAGES];       /* come: to EMPTY */
    uint8_t expected[BLOCKS][STAGES];
    uint8_t flying[BLOCKS][STAGES], data[BLOCKS][STAGES][PARTS];  /* step + 1 */
    uint8_t done[BLOCKS][COMPUTING];      /* steps whose products are */
} State;
enum { FULL, EMPTY, SLOTS = 1 << 18 };

typedef struct {
    const Protocol *p;
    State *seen, *stack;
    uint8_t *used;
    int depth, states, ends;
    const char *wrong;
} Explorer;

static int parts(const Protocol *p) { return p->blocks > 1 ? 1 + p->blocks : 2; }

/* Copies that land tell nobody but with the last of their stage, so all may land with that.  */
static bool lands(const Protocol *p, State *s, int b, int slot) {
    if (!s->expected[b][slot] || s->flying[b][slot] != (1 << parts(p)) - 1) return false;
    s->expected[b][slot] = s->flying[b][slot] = 0;
    s->phase[FULL][b][slot]++;
    return true;
}

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

/* The hardware tells phases by their parity; two apart they look the same.  */
static bool is_over(Explorer *x, const State *s, int b, const Op *op) {
    int slot = op->step % x->p->stages, phase = op->step / x->p->stages - (op->id == RING_EMPTY);
    int over = s->phase[op->id][b][slot];
    if (over < phase || over > phase + 2) x->wrong = "a wait takes a phase for another";
    return over > phase;
}

/* The copy of a part begins: nobody may read what was there before.  */
static void begin(Explorer *x, State *s, int b, int part, int step) {
    int slot = step % x->p->stages;
    for (int w = 0; w < x->p->computing; w++)
        if (step >= x->p->stages &&
            s->done[b][w] < own_steps(x->p, w, step - x->p->stages + 1))
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
        if (++s->come[b][slot] < x->p->computing / x->p->in_turn * x->p->blocks) continue;
        s->come[b][slot] = 0;
        s->phase[EMPTY][b][slot]++;
    }
}

/* Thread t of block b does its next operation; false: it waits.  */
static bool act(Explorer *x, State *s, int b, int t) {
    const Protocol *p = x->p;
    const Op *op = &p->op[t][s->at[b][t]];
    int step = op->step, slot = step % p->stages;
    switch (op->kind) {
    case OP_WAIT:
        if (!is_over(x, s, b, op)) return false;
        break;
    case OP_EXPECT:
        s->expected[b][slot] = 1;
        break;
    case OP_COPY:
        for (int to = 0; to < p->blocks; to++)
            if (to == b || op->shared) begin(x, s, to, op->shared ? 1 + b % p->blocks : 0, step);
        break;
    case OP_COMPUTE: compute(x, s, b, step); break;
    case OP_PRODUCTS:
        s->done[b][t - 1] = (uint8_t)(op->own > op->count ? op->own - op->count : 0);
        break;
    case OP_ARRIVE:
        if (step >= op->lag) arrive(x, s, (step - op->lag) % p->stages);
        break;
    case OP_TURN:
        if (!s->given[b][op->id]) return false;
        s->given[b][op->id] = 0;
        break;
    case OP_GIVE:
        if (s->given[b][op->id]) x->wrong = "a turn is given twice";
        s->given[b][op->id] = 1;
        break;
    }
    s->at[b][t]++;
    return true;
}

/* Copies that begin as early as they can are what others have to fear most.  */
static bool at_once(const Op *op) { return op->kind == OP_EXPECT || op->kind == OP_COPY; }

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
                if (s.at[b][t] == p->n[t]) continue;
                over = false;
                if (!act(x, &next, b, t)) continue;
                while (next.at[b][t] < p->n[t] && at_once(&p->op[t][next.at[b][t]]))
                    act(x, &next, b, t);
                moves = true;
                visit(x, &next);
            }
            for (int slot = 0; slot < p->stages; slot++) {
                State next = s;
                if (!lands(p, &next, b, slot)) continue;
                moves = true;
                visit(x, &next);
            }
        }
        if (!moves && !over) x->wrong = "threads wait for ever";
        x->ends += over && !moves;
    }
}

/* ---- kernels ---- */

/* Both operands from shared memory; one of them from registers that are made; the k-steps of the
 * last tile dealt out.  */
typedef enum { PLAIN, MADE, TAIL } Variant;

static Protocol protocol_of(Arena *a, const Device *dev, int stages, int cluster, Grid grid,
                            Variant variant) {
    KernelCase c = {0};
    Protocol p = {.stages = stages, .blocks = cluster > 1 ? cluster : 1, .computing = COMPUTING};
    const char *text = arena_printf(a, "op f(A: bf16[512,512], B: %s[512,512]) -> "
                                    "C: bf16[512,512] { C[m,n] += A[m,k] * B[n,k]; }",
                                    variant == MADE ? "i8" : "bf16");
    assert_null(kernel_open(&c, a, dev, text, NULL));
    const RProgSet *set = &c.set[0];
    for (int i = 0; i < set->n && !p.form; i++) {
        RProg r = set->prog[i];
        bool alone = r.block.extent[variant == MADE ? AX_N : AX_M] == 64;
        if (!dev->unit[r.unit].b_smem || r.split > 1 || r.cluster || !alone) continue;
        r.stages = (uint8_t)stages;
        r.cluster = (uint8_t)cluster;
        r.grid = grid;
        r.via = VIA_DIRECT;
        r.store_vec = r.vec_n;
        r.tail = variant == TAIL ? 1 : 0;
        r.tail_blocks = 2 * r.tail;
        if (cluster && !rprog_cluster_order(&c.plan.problem[0], c.dev, &r)) continue;
        rprog_derive(&c.plan.problem[0], dev, &r);
        if (rprog_check(&c.plan.problem[0], dev, &r)) continue;
        int n;
        c.plan.prog[0] = r;
        p.form = lower_plan(a, &c.plan, dev, &n)->form;
        p.shared = p.blocks > 1 ? rprog_cluster_side(&r) : 1;
        p.in_turn = rprog_in_turn(&r);
    }
    assert_non_null(p.form);
    return p;
}

static const char *explored(Arena *a, const Protocol *p) {
    static State seen[SLOTS], stack[SLOTS];
    Explorer x = {.p = p, .seen = seen, .stack = stack, .used = ARENA_ARRAY(a, uint8_t, SLOTS)};
    assert_true(p->n[0] > 3 && p->n[1] > 3);
    explore(&x);
    if (!x.wrong && x.ends == 0) return "no order comes to an end";
    return x.wrong;
}

static void explore_kernel(Arena *a, Protocol *p, int steps, int tiles) {
    ArenaMark mark = arena_mark(a);
    list_ops(p, steps, tiles);
    const char *why = explored(a, p);
    if (why)
        fail_msg("%d stages, %d blocks, %d tiles %s of %d steps: %s", p->stages, p->blocks, tiles,
                 p->in_turn > 1 ? "in turn" : "together", steps, why);
    arena_reset(a, mark);
}

/* Clusters of 4 have one step more than stages at most: four blocks have many orders.  */
static void test_protocols(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    const Device *dev = fixture_device(a, "h100");
    for (int stages = 1; stages <= STAGES; stages++) {
        for (int cluster = 0; cluster <= (stages < 3 ? 2 : 0); cluster += 2) {
            ArenaMark mark = arena_mark(a);
            Protocol p = protocol_of(a, dev, stages, cluster, GRID_TILES, PLAIN);
            if (cluster) p.computing = 1;
            for (int steps = 1; steps <= stages + 2; steps++) explore_kernel(a, &p, steps, 1);
            arena_reset(a, mark);
        }
    }
    Protocol fours = protocol_of(a, dev, 1, 4, GRID_TILES, PLAIN);
    fours.computing = 1;
    explore_kernel(a, &fours, 2, 1);
    arena_destroy(a);
}

/* Blocks that stay: tiles of fewer and of more steps than there are stages, a tail of one tile.  */
static void test_tiles(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    const Device *dev = fixture_device(a, "h100");
    for (int stages = 1; stages <= STAGES; stages++) {
        for (Grid grid = GRID_PERSISTENT; grid <= GRID_PINGPONG; grid++) {
            ArenaMark mark = arena_mark(a);
            Protocol p = protocol_of(a, dev, stages, 0, grid, PLAIN);
            for (int tiles = 1; tiles <= 3; tiles++)
                for (int steps = 1; steps <= stages + 1; steps++)
                    explore_kernel(a, &p, steps, tiles);
            arena_reset(a, mark);
        }
    }
    for (Grid grid = GRID_PERSISTENT; grid <= GRID_PINGPONG; grid++) {
        Protocol pair = protocol_of(a, dev, 2, 2, grid, PLAIN);
        Protocol fours = protocol_of(a, dev, 1, 4, grid, PLAIN);
        if (grid == GRID_PERSISTENT) pair.computing = fours.computing = 1;
        explore_kernel(a, &pair, 2, 2);
        explore_kernel(a, &pair, 1, 3);
        explore_kernel(a, &fours, 1, 2);
    }
    arena_destroy(a);
}

/* Registers that are made, of one tile and of several; whole tiles and segments of others.  */
static void test_variants(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    const Device *dev = fixture_device(a, "h100");
    for (int stages = 1; stages <= STAGES; stages++) {
        ArenaMark mark = arena_mark(a);
        Protocol alone = protocol_of(a, dev, stages, 0, GRID_TILES, MADE);
        Protocol stays = protocol_of(a, dev, stages, 0, GRID_PERSISTENT, MADE);
        Protocol tail = protocol_of(a, dev, stages, 0, GRID_PERSISTENT, TAIL);
        for (int steps = 1; steps <= stages + 1; steps++) {
            explore_kernel(a, &alone, steps, 1);
            explore_kernel(a, &stays, steps, 2);
            explore_kernel(a, &tail, steps, 3);
        }
        arena_reset(a, mark);
    }
    arena_destroy(a);
}

/* What is left out of the protocol, or shifted, is found.  */
static bool shifted(const Protocol *p, Op *op, OpKind kind) {
    if (op->kind != kind) return false;
    switch (kind) {
    case OP_WAIT: op->step += p->stages; return true;
    case OP_ARRIVE: op->lag = !op->lag; return true;
    case OP_PRODUCTS: op->count++; return true;
    case OP_GIVE: op->id = !op->id; return true;
    case OP_TURN: *op = (Op){.kind = OP_PRODUCTS, .own = op->own, .count = 1}; return true;
    default: return false;
    }
}

static int broken(Arena *a, Grid grid, Variant variant, int steps, int tiles) {
    Protocol good = protocol_of(a, fixture_device(a, "h100"), 2, 0, grid, variant);
    int tried = 0;
    list_ops(&good, steps, tiles);
    for (int thread = 0; thread < 2; thread++) {
        for (OpKind kind = OP_WAIT; kind <= OP_GIVE; kind++) {
            ArenaMark mark = arena_mark(a);
            Protocol p = good;
            bool any = false;
            for (int i = 0; i < p.n[thread]; i++) any |= shifted(&p, &p.op[thread][i], kind);
            tried += any;
            if (any && !explored(a, &p)) fail_msg("thread %d, kind %d is not missed", thread, kind);
            arena_reset(a, mark);
        }
    }
    return tried;
}

static void test_broken(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    assert_int_equal(broken(a, GRID_TILES, PLAIN, 5, 1), 4);
    assert_int_equal(broken(a, GRID_TILES, MADE, 5, 1), 4);
    assert_int_equal(broken(a, GRID_PERSISTENT, PLAIN, 3, 2), 4);
    assert_int_equal(broken(a, GRID_PERSISTENT, TAIL, 3, 2), 4);
    assert_int_equal(broken(a, GRID_PINGPONG, PLAIN, 3, 3), 6);
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_protocols),
        cmocka_unit_test(test_tiles),
        cmocka_unit_test(test_variants),
        cmocka_unit_test(test_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
