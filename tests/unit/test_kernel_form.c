/* links: sim */
/* The check of a kernel's form: every kernel passes, and none without one of its nodes, or with one
 * at another place.  */
#include "codegen/lower/lower.h"
#include "golden_plans.h"
#include "kernel_fixture.h"
#include "plan_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static Lowered *lowered(Arena *a, int i, int *n) {
    KernelCase c;
    Device *dev;
    Diag d = diag_new(a);
    RStrategy read;
    rprog_read_strategies(golden[i].plan, strlen(golden[i].plan), &read, 1);
    assert_int_equal(hal_profile_find(a, &d, golden[i].profile, "profiles", NULL, &dev), ST_OK);
    const char *wrong = kernel_open_decided(&c, a, dev, golden[i].text, NULL,
                                            read.decisions.taken[0]);
    if (wrong) fail_msg("%s: %s", golden[i].name, wrong);
    const char *plan = arena_printf(a, "roller-plan 1\n%s", golden[i].plan);
    RPlan *p = ARENA_NEW(a, RPlan);
    if (rprog_read(a, &d, diag_text(golden[i].name, plan), dev, &c.plan))
        fail_msg("%s: %s", golden[i].name, d.messages[0].message);
    *p = c.plan;
    return lower_plan(a, p, dev, n);
}

/* ---- mutants ---- */

/* Mutants of kernels that have a barrier more than they need: behind the last reads of stages, when
 * that of the last step has come behind these already (fragments that are not fetched early, or
 * only if there is a k to fetch them for).  Of rings it does not know the fence behind the counts
 * of barriers, which the simulator does, and lets others stand on either side of a meeting of
 * threads; and a stage whose reads the warp has met behind may be given free wherever in the step
 * after.  Nor does it know the fences of Tensor Memory, and that its columns are given back when
 * all have loaded them (the simulator does); of one tile to a block sums need no next slot.  */
static const struct {
    const char *name;
    int mutants;
} needless[] = {{"conv_split", 1}, {"rows_parts", 1},   {"rows_in_turn", 5},
                {"rows_stay", 2},  {"rows_alone", 2},   {"weights_made", 3},
                {"ring_tail", 3},  {"ring_gathered", 3}, {"scales_tensor", 11}};

static int expected(const char *name) {
    for (int i = 0; i < (int)(sizeof needless / sizeof *needless); i++) {
        if (strcmp(needless[i].name, name) == 0) return needless[i].mutants;
    }
    return 0;
}

typedef struct {
    Arena *arena;
    const char *name;
    const Form *form;
    int removed, moved, survived;
} Mutants;

/* Must it be there?  Values that only move a cursor do not touch what threads share; what lets the
 * next kernel begin is for its time alone.  */
static bool counts(const Node *n) {
    if (n->kind == NODE_SYNC && n->sync.scope == SYNC_GRID && n->sync.op == SYNC_ARRIVE)
        return false;
    bool cursor = n->kind == NODE_VALUES &&
                  (n->what == VALUES_PUT || n->what == VALUES_TAKE || n->what == VALUES_NEXT_K);
    bool writes = false;
    for (int i = 0; i < n->n_use; i++) writes |= n->use[i].writes;
    return n->kind == NODE_SYNC || writes || cursor;
}

static void survivor(Mutants *m, const char *what, const Node *n) {
    m->survived++;
    print_message("%s: %s %s %d: nobody misses it\n", m->name, what, form_kind_name(n->kind),
                  n->kind == NODE_SYNC ? (int)n->sync.scope : n->what);

}

/* May it change places with its neighbour?  Barriers in shared memory get their counts and bytes
 * to expect in any order; sums are a thread's own, so that no room says when they are complete;
 * where a team's turn ends matters for time alone.  */
static bool is_free(const Node *n) {
    const Sync *s = &n->sync, *next = &n->next->sync;
    bool stored = n->next->kind == NODE_STORE || next->scope == SYNC_NAMED;
    bool sums = s->scope == SYNC_PRODUCTS && stored;
    bool expects = n->next->kind == NODE_SYNC && next->bytes > 0;
    bool turn = s->scope == SYNC_NAMED && s->team == TEAM_OTHER;
    return s->op == SYNC_INIT || s->bytes > 0 || expects || sums || turn;
}

static void mutate(Mutants *m, Node **at) {
    for (; *at; at = &(*at)->next) {
        Node *n = *at, *next = n->next;
        if (counts(n)) {
            *at = next;
            m->removed++;
            if (!kernel_check(m->arena, m->form)) survivor(m, "without", n);
            *at = n;
        }
        bool acts = next && counts(next) && next->kind != NODE_VALUES;
        if (n->kind == NODE_SYNC && acts && !is_free(n)) {
            n->next = next->next;
            next->next = n;
            *at = next;
            m->moved++;
            if (!kernel_check(m->arena, m->form)) survivor(m, "moved", n);
            *at = n;
            next->next = n->next;
            n->next = next;
        }
        mutate(m, &n->child);
    }
}

/* So many steps that the rings go round: at the op's own size some nodes have nothing to do.  A
 * slot for each step is all there is.  */
static void go_round(Form *f) {
    if (f->steps == 0 || f->layout->ring[0].turn == TURN_KEPT) return;
    int64_t steps = 2 * f->layout->ring[0].slots + 2;
    if (f->least == f->steps) f->least = steps;
    f->steps = steps;
}

/* ---- chains: two rings ---- */

static const char attention[] =
    "op fa(Q: f16[2,64,64], K: f16[2,160,64], V: f16[2,160,64]) -> O: f16[2,64,64] {"
    " t[b,i,j] = sum[d](Q[b,i,d] * K[b,j,d]) * 0.125;"
    " m[b,i] = max[j](t[b,i,j]);"
    " z[b,i] = sum[j](exp(t[b,i,j] - m[b,i]));"
    " O[b,i,e] = sum[j](f16(exp(t[b,i,j] - m[b,i])) * V[b,j,e]) / z[b,i]; }";

/* Results that pass through shared memory begin with a barrier.  Nobody misses it where they lie
 * over operands of the first product alone, which all have read behind the last turn's barrier.  */
static int chain_expected(const Layout *l) {
    const Room *out = rprog_room(l, ROOM_STAGING, 0), *v = rprog_room(l, ROOM_STAGE, 3);
    return out && !l->ring[0].arrivals[RING_FULL] && !rprog_over(out, v);
}

/* Of nodes that change values alone nobody knows but who sees numbers; of the fence behind counts
 * of barriers neither that it is there nor where; others may stand before or behind a meeting of
 * threads.  */
static int unknown(const Node *first) {
    int all = 0;
    for (const Node *n = first; n; n = n->next) {
        bool value = n->kind == NODE_VALUES && (n->what == VALUES_MOVE || n->what == VALUES_CUT);
        bool fence = n->kind == NODE_SYNC && n->sync.scope == SYNC_PROXY;
        bool before = fence && n->next && n->next->kind == NODE_SYNC;
        SyncScope next = before ? n->next->sync.scope : SYNC_SCOPES;
        bool meeting = next == SYNC_WARP || next == SYNC_NAMED;
        all += value + 2 * (next == SYNC_BLOCK) + meeting + unknown(n->child);
    }
    return all;
}

static int chain_mutants(Arena *a, const Device *dev, KernelCase *c, int i) {
    int n;
    RPlan *p = ARENA_NEW(a, RPlan);
    c->plan.prog[0] = c->set[0].prog[i];
    *p = c->plan;
    Lowered *l = lower_plan(a, p, dev, &n);
    go_round(l->form);
    const char *wrong = kernel_check(a, l->form);
    if (wrong) fail_msg("chain: %s", wrong);
    Mutants m = {.arena = a, .name = "chain", .form = l->form};
    mutate(&m, &l->form->root->child);
    assert_true(m.removed > 0 && m.moved > 0);
    return m.survived - chain_expected(l->layout) - unknown(l->form->root);
}

/* The number of the form that a program has, -1: it is left out; mutants of it that survive.  */
typedef struct {
    int (*form)(const KernelCase *c, const RProg *r);
    int (*survive)(const RProg *r);
    int least;                /* forms that there are */
} Forms;

/* One program of each form.  */
static void try_forms(const char *device, const char *text, const Forms *x) {
    enum { FORMS = 64 };
    bool seen[FORMS] = {false};
    Arena *a = arena_create(NULL);
    KernelCase c;
    const Device *dev = fixture_device(a, device);
    const char *wrong = kernel_open_decided(&c, a, dev, text, NULL, JOINED | CHAINS);
    if (wrong) fail_msg("%s", wrong);
    int forms = 0;
    for (int i = 0; i < c.set[0].n; i++) {
        const RProg *r = &c.set[0].prog[i];
        int form = x->form(&c, r);
        assert_true(form < FORMS);
        if (form < 0 || seen[form]) continue;
        seen[form] = true;
        forms++;
        assert_int_equal(chain_mutants(a, dev, &c, i), x->survive ? x->survive(r) : 0);
    }
    assert_true(forms >= x->least);
    arena_destroy(a);
}

enum { KEPT = 2, STAGES_TRIED = 3, VIAS = VIA_BOXES + 1 };

/* The number of stages and the way to store.  */
static int staged(const RProg *r) {
    return r->stages > STAGES_TRIED ? -1 : r->stages * VIAS + (int)r->via;
}

static int form_of_warps(const KernelCase *c, const RProg *r) {
    (void)c;
    bool known = (int)r->keep < KEPT && staged(r) >= 0;
    return known ? (int)r->keep * (STAGES_TRIED + 1) * VIAS + staged(r) : -1;
}

static int form_of_groups(const KernelCase *c, const RProg *r) {
    bool known = c->dev->unit[r->unit].b_smem && staged(r) >= 0;
    return known ? (int)r->overlap * (STAGES_TRIED + 1) * VIAS + staged(r) : -1;
}

static void test_chains(void **state) {
    (void)state;
    try_forms("a100", attention, &(Forms){form_of_warps, NULL, KEPT * 2});
}

/* The same with a mask: turns are as many as it says, and rows of V are cut.  */
static const char windowed[] =
    "op fa(Q: f16[2,256,64], K: f16[2,600,64], V: f16[2,600,64], n: i32[2]) -> O: f16[2,256,64] {"
    " t[b,i,j] = j < n[b] ? sum[d](Q[b,i,d] * K[b,j,d]) * 0.125 : -inf;"
    " m[b,i] = max[j](t[b,i,j]);"
    " z[b,i] = sum[j](exp(t[b,i,j] - m[b,i]));"
    " O[b,i,e] = sum[j](f16(exp(t[b,i,j] - m[b,i])) * V[b,j,e]) / z[b,i]; }";

static void test_chains_of_groups(void **state) {
    const Forms x = {form_of_groups, NULL, OVERLAP_COUNT * 2};
    (void)state;
    try_forms("h200", attention, &x);
    try_forms("h200", windowed, &x);
}

static const char pixels[] =
    "op f(X: f16[40,16,16,64], K: f16[3,3,64,64], W: f16[64,96]) -> Y: f16[40,16,16,96] {"
    " S[n,p,q,f] += (X[n,p+r-1,q+s-1,c] else 0) * K[r,s,c,f];"
    " Y[n,p,q,g] += f16(max(S[n,p,q,f], 0)) * W[f,g]; }";

static const char wide_pixels[] =
    "op f(X: f16[8,56,56,64], K: f16[3,3,64,64], W: f16[64,128]) -> Y: f16[8,56,56,128] {"
    " S[n,p,q,f] += (X[n,p+r-1,q+s-1,c] else 0) * K[r,s,c,f];"
    " Y[n,p,q,g] += f16(max(S[n,p,q,f], 0)) * W[f,g]; }";

/* Each grid and way to store of programs whose steps stay in their slots.  Nobody misses the wait
 * for the last products, whose sums have no room, nor minds on which side of it the region is told
 * to be free.  The number of a tile says which slot of the region it has, so that warpgroups in
 * turn need no next one; nor do they need the turn where the slots are an even number, since each
 * has its own then.  */
static int survive_kept(const RProg *r) {
    if (r->grid != GRID_PINGPONG) return 2;
    return r->region_slots % 2 ? 3 : 4;
}

static int form_of_kept(const KernelCase *c, const RProg *r) {
    bool keeps = rprog_keeps_steps(&c->plan.problem[0], r);
    return keeps ? (int)r->grid * VIAS + (int)r->via : -1;
}

static void test_chains_that_keep_steps(void **state) {
    (void)state;
    try_forms("h200", pixels, &(Forms){form_of_kept, survive_kept, 4});
    try_forms("h200", wide_pixels, &(Forms){form_of_kept, survive_kept, 4});
}

/* ---- golden plans ---- */

static void test_golden(void **state) {
    (void)state;
    for (int i = 0; i < GOLDEN; i++) {
        Arena *a = arena_create(NULL);
        int n, survived = 0;
        Lowered *l = lowered(a, i, &n);
        for (int x = 0; x < n; x++) {
            go_round(l[x].form);
            const char *wrong = kernel_check(a, l[x].form);
            if (wrong) fail_msg("%s: %s", golden[i].name, wrong);
            Mutants m = {.arena = a, .name = golden[i].name, .form = l[x].form};
            mutate(&m, &l[x].form->root->child);
            survived += m.survived;
        }
        assert_int_equal(survived, expected(golden[i].name));
        arena_destroy(a);
    }
}

/* ---- roles ---- */

enum { CONSUMERS = 8, BYTES = 1024 };

/* A warp that copies and eight that compute, through the stages of a ring, or each operand through
 * a ring of its own, the second one deeper; one tile, or one after the other.  */
typedef struct {
    int stages, tiles, under_way, rings;
} Rings;

/* Two operands in stages, barriers behind them, and outputs.  */
static const Layout *rooms(Arena *a, const Rings *x) {
    Layout *l = ARENA_NEW(a, Layout);
    *l = (Layout){.room = ARENA_ARRAY(a, Room, 3), .ring = ARENA_ARRAY(a, Ring, x->rings),
                  .n_room = 3, .n_ring = x->rings};
    int64_t end = 0;
    for (int i = 0; i < x->rings; i++)
        l->ring[i] = (Ring){.turn = TURN_STEPS, .shares = 1, .slots = x->stages + i,
                            .bytes = (int64_t)2 / x->rings * BYTES,
                            .arrivals = {1, CONSUMERS}};
    for (int i = 0; i < 2; i++) {
        const Ring *ring = &l->ring[i % x->rings];
        l->room[i] = (Room){.kind = ROOM_STAGE, .of = i, .at = end, .bytes = BYTES,
                            .slots = ring->slots, .apart = ring->bytes, .shares = 1,
                            .ring = i % x->rings};
        end = x->rings > 1 ? rprog_room_end(&l->room[i]) : end + BYTES;
    }
    l->room[2] = (Room){.kind = ROOM_OUTPUTS, .at = rprog_room_end(&l->room[1]), .bytes = BYTES,
                        .slots = 1, .shares = 1, .ring = -1};
    return l;
}

static Sync *add_barrier(FormBuilder *b, SyncOp op, int id, int ring) {
    Sync *s = &form_sync(b, SYNC_BARRIER, op, 0)->sync;
    s->id = id;
    s->ring = ring;
    return s;
}

static void open_role(FormBuilder *b, int first, int warps, bool fills, int tiles) {
    const char *var = fills ? "done" : "taken";
    form_open(b, NODE_ROLE, 0)->role = (Role){.name = var, .first = first, .warps = warps};
    if (tiles) form_open(b, NODE_LOOP, LOOP_SEGMENTS)->loop.count = -1;
    form_open(b, NODE_LOOP, LOOP_STEPS)->loop =
        (Loop){.var = var, .count = 100, .by = 1};
}

static void add_producer(FormBuilder *b, const Rings *x) {
    open_role(b, CONSUMERS, 1, true, x->tiles);
    form_if(b, WHEN_ONE, 0)->from = CONSUMERS;
    for (int i = 0; i < x->rings; i++) {
        add_barrier(b, SYNC_WAIT, RING_EMPTY, i);
        add_barrier(b, SYNC_ARRIVE, RING_FULL, i)->bytes = (int64_t)2 / x->rings * BYTES;
    }
    for (int side = 0; side < 2; side++) {
        Node *n = form_add(b, NODE_COPY, 0);
        n->done = DONE_BARRIER;
        n->ring = side % x->rings;
        n->bytes = BYTES;
        Use *u = form_writes(b, n, ROOM_STAGE, side);
        u->data = OF_PUT;
        u->late = true;
    }
    form_close(b);
    for (int i = 0; i < x->rings; i++) form_add(b, NODE_VALUES, VALUES_PUT)->ring = i;
    form_close(b);
    if (x->tiles) form_close(b);
    form_close(b);
}

static void add_outputs(FormBuilder *b, int tiles) {
    if (tiles) form_sync(b, SYNC_NAMED, SYNC_BOTH, CONSUMERS * 32)->sync.id = 1;
    form_writes(b, form_add(b, NODE_STORE, STORE_STAGING), ROOM_OUTPUTS, 0);
    form_sync(b, SYNC_NAMED, SYNC_BOTH, CONSUMERS * 32)->sync.id = 1;
    form_reads(b, form_add(b, NODE_STORE, STORE_OUTPUTS), ROOM_OUTPUTS, 0);
}

static void add_consumers(FormBuilder *b, const Rings *x) {
    open_role(b, 0, CONSUMERS, false, x->tiles);
    for (int i = 0; i < x->rings; i++) add_barrier(b, SYNC_WAIT, RING_FULL, i);
    Node *n = form_add(b, NODE_COMPUTE, 0);
    n->done = DONE_PRODUCTS;
    for (int side = 0; side < 2; side++) {
        Use *u = form_reads(b, n, ROOM_STAGE, side);
        u->data = OF_TAKEN;
        u->late = true;
    }
    form_sync(b, SYNC_PRODUCTS, SYNC_COMMIT, 0);
    form_sync(b, SYNC_PRODUCTS, SYNC_WAIT, x->under_way);
    for (int i = 0; i < x->rings; i++) {
        Sync *s = add_barrier(b, SYNC_ARRIVE, RING_EMPTY, i);
        s->by = BY_WARPS;
        s->lag = x->under_way;
    }
    for (int i = 0; i < x->rings; i++) form_add(b, NODE_VALUES, VALUES_TAKE)->ring = i;
    form_close(b);
    if (x->under_way) form_sync(b, SYNC_PRODUCTS, SYNC_WAIT, 0);
    add_outputs(b, x->tiles);
    if (x->tiles) form_close(b);
    form_close(b);
}

static Form *rings(Arena *a, Rings x) {
    FormBuilder b;
    Form *f = form_begin(&b, a, rooms(a, &x));
    f->warps = CONSUMERS + 1;
    f->least = 1;
    f->steps = 100;
    for (int i = 0; i < x.rings; i++) {
        for (int id = 0; id < RING_BARRIERS; id++)
            add_barrier(&b, SYNC_INIT, id, i)->count = b.layout->ring[i].arrivals[id];
    }
    form_block_sync(&b);
    add_producer(&b, &x);
    add_consumers(&b, &x);
    return f;
}

static Form *ring(Arena *a, int stages, int tiles, int under_way) {
    return rings(a, (Rings){stages, tiles, under_way, 1});
}

static Node *find(Node *first, NodeKind kind, SyncScope scope, SyncOp op) {
    for (Node *n = first; n; n = n->next) {
        if (n->kind == kind && (kind != NODE_SYNC || (n->sync.scope == scope && n->sync.op == op)))
            return n;
        Node *below = find(n->child, kind, scope, op);
        if (below) return below;
    }
    return NULL;
}

static void test_roles(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    for (int i = 0; i < 8; i++) {
        Form *f = ring(a, i % 4 < 2 ? 2 : 4, i / 4, i % 2);
        const char *wrong = kernel_check(a, f);
        if (wrong) fail_msg("ring %d: %s", i, wrong);
        Mutants m = {.arena = a, .name = i / 4 ? "tiles" : "tile", .form = f};
        mutate(&m, &f->root->child);
        assert_int_equal(m.survived, 0);
        assert_in_range(m.removed, 12, 20);
        assert_in_range(m.moved, 1, 20);
    }
    arena_destroy(a);
}

/* A ring for each operand.  Of the two, the waits for what is full and the arrivals at what is
 * empty may change places, and who waits for an empty slot of the first need not wait for one of
 * the second, which is deeper.  */
static void test_two_rings(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    for (int i = 0; i < 8; i++) {
        Rings x = {i % 4 < 2 ? 2 : 4, i / 4, i % 2, 2};
        Form *f = rings(a, x);
        const char *wrong = kernel_check(a, f);
        if (wrong) fail_msg("rings %d: %s", i, wrong);
        Mutants m = {.arena = a, .name = i / 4 ? "tiles" : "tile", .form = f};
        mutate(&m, &f->root->child);
        assert_in_range(m.removed, 20, 30);
        assert_int_equal(m.survived, 3);
        /* The first operand's copies count on the other's barrier.  */
        f = rings(a, x);
        find(f->root, NODE_COPY, 0, 0)->ring = 1;
        assert_non_null(kernel_check(a, f));
        f = rings(a, x);
        Node *consumers = f->root->child;
        while (consumers->next) consumers = consumers->next;
        find(consumers, NODE_SYNC, SYNC_BARRIER, SYNC_WAIT)->sync.ring = 1;
        assert_non_null(kernel_check(a, f));
    }
    arena_destroy(a);
}

/* Barriers that get more or fewer arrivals or bytes than they wait for.  */
static void test_arrivals(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    for (int by = -1; by <= 1; by += 2) {
        Form *f = ring(a, 3, 1, 1);
        find(f->root, NODE_SYNC, SYNC_BARRIER, SYNC_INIT)->next->sync.count += by;
        assert_non_null(kernel_check(a, f));
        f = ring(a, 3, 1, 1);
        find(f->root, NODE_COPY, 0, 0)->bytes += by;
        assert_non_null(kernel_check(a, f));
        f = ring(a, 3, 1, 1);
        find(f->root, NODE_SYNC, SYNC_NAMED, SYNC_BOTH)->sync.count += 32 * by;
        assert_non_null(kernel_check(a, f));
    }
    /* The one thread that copies is of a warp that does not come there.  */
    Form *f = ring(a, 3, 1, 1);
    find(f->root, NODE_IF, 0, 0)->from = 0;
    assert_non_null(kernel_check(a, f));
    /* A stage is free while its products are still under way.  */
    f = ring(a, 3, 1, 1);
    Node *consumers = f->root->child->next->next->next->next;
    find(consumers, NODE_SYNC, SYNC_BARRIER, SYNC_ARRIVE)->sync.lag = 0;
    assert_non_null(kernel_check(a, f));
    arena_destroy(a);
}

/* Teams of a warp each, in turn, each of which waits for the one before: as many as there are named
 * barriers, and one more.  */
static void test_teams(void **state) {
    (void)state;
    enum { NAMED = 16, FIRST = 1 };
    Arena *a = arena_create(NULL);
    for (int teams = NAMED - FIRST; teams <= NAMED - FIRST + 1; teams++) {
        FormBuilder b;
        Form *f = form_begin(&b, a, &(Layout){0});
        f->warps = teams;
        form_open(&b, NODE_ROLE, 0)->role = (Role){.name = "teams", .warps = teams, .teams = teams};
        form_open(&b, NODE_LOOP, LOOP_COUNTED)->loop = (Loop){.in_turn = true, .count = 2};
        for (int other = 0; other < 2; other++) {
            Node *n = form_sync(&b, SYNC_NAMED, other ? SYNC_ARRIVE : SYNC_BOTH, 64);
            n->sync.id = FIRST;
            n->sync.team = other ? TEAM_OTHER : TEAM_OWN;
            n->when = other ? WHEN_FOLLOWED : WHEN_AGAIN;
        }
        const char *wrong = kernel_check(a, f);
        assert_true((wrong == NULL) == (teams < NAMED));
        if (wrong) assert_non_null(strstr(wrong, "named barrier 16 of a block that has 16"));
    }
    arena_destroy(a);
}

/* A sync of a block where not all of its threads come.  */
static void test_places(void **state) {
    (void)state;
    static const When when[] = {WHEN_UPPER, WHEN_ONE, WHEN_WHOLE};
    Arena *a = arena_create(NULL);
    for (int i = 0; i < 3; i++) {
        FormBuilder b;
        Form *f = form_begin(&b, a, &(Layout){0});
        f->warps = 2;
        form_if(&b, when[i], 0);
        form_block_sync(&b);
        assert_true((kernel_check(a, f) == NULL) == (when[i] == WHEN_WHOLE));
    }
    FormBuilder b;
    Form *f = form_begin(&b, a, &(Layout){0});
    f->warps = 2;
    form_open(&b, NODE_ROLE, 0)->role = (Role){.name = "one", .first = 0, .warps = 1};
    form_block_sync(&b);
    assert_non_null(kernel_check(a, f));
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_chains),
                                       cmocka_unit_test(test_chains_of_groups),
                                       cmocka_unit_test(test_chains_that_keep_steps),
                                       cmocka_unit_test(test_golden),
                                       cmocka_unit_test(test_roles),
                                       cmocka_unit_test(test_two_rings),
                                       cmocka_unit_test(test_arrivals),
                                       cmocka_unit_test(test_teams),
                                       cmocka_unit_test(test_places)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
