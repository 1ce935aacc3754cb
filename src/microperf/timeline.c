/* The ring of a program over time.
 *
 * Fills of all rings are copied one behind the other.  One is asked for as soon as its slot is
 * free, that is when the product of `slots` turns before has read it; its first byte comes `first`
 * or `latency` clocks later, its last one `copy` behind the later of that and the last byte of the
 * fill before.  A product begins when its fill is there and the unit is free.
 *
 * - One tile at a time: all teams multiply together, each its part at its share of the unit.  Sums
 *   in Tensor Memory leave the unit to the next tile before the end of their own.
 * - pingpong: a team multiplies a tile alone while the other one ends its own.
 * - chain: a turn is product, powers, product.  Overlap within: a team begins the first product of
 *   the next turn before the second one of this turn, and makes its powers meanwhile.  Teams are at
 *   the same place, but with overlap between them: then the unit and the powers are stations, which
 *   serve one of the N teams at a time, 1 / N of the turn's clocks each.
 *
 * What the model adds because queues run dry (`wait`) lies behind each product and all powers, so
 * that a turn of the steady state takes what it takes in the estimate.  */
#include "microperf/timeline.h"
#include "microperf/model.h"

/* Of a tile, bars that nobody tells apart; two tiles of one team of a pingpong and one of the
 * other.  */
enum { MOST_TURNS = 4096, MOST_TILES = 3, RINGS = 2 };

typedef struct {
    MpTimeline *t;
    const RProg *r;
    Arena *arena;
    size_t bars;              /* that there is room for */
    double asked, copied;     /* the last fill */
    double unit, powers;      /* free from */
    double *ready[RINGS], *freed[RINGS];  /* of each fill */
} Course;

static void bar(Course *c, MpBar b) {
    MpTimeline *t = c->t;
    t->bar = arena_grow(c->arena, t->bar, &c->bars, (size_t)t->n + 1, sizeof b);
    t->bar[t->n++] = b;
}

/* Fill `i` of a ring, over all tiles.  */
static void fill(Course *c, int ring, int i) {
    const MpTimeline *t = c->t;
    int before = i - t->slots;
    double asked = before < 0 ? 0 : c->freed[ring][before];
    c->asked = greater(c->asked, asked);
    double late = c->asked + (before < 0 ? t->turn.first : t->turn.latency);
    double from = greater(late, c->copied);
    int tile = i / t->turns, turn = i % t->turns;
    c->copied = from + t->turn.copy[ring];
    c->ready[ring][i] = c->copied;
    bar(c, (MpBar){BAR_ASKED, ring, 0, tile, turn, c->asked, from});
    bar(c, (MpBar){BAR_COPY, ring, 0, tile, turn, from, c->copied});
}

/* A product of a team that takes a share of the unit's clocks, at `from` or later.  */
static double product(Course *c, MpBar of, double from, double share) {
    int i = of.tile * c->t->turns + of.turn;
    of.kind = BAR_PRODUCT;
    of.from = greater(from, greater(c->ready[of.of][i], c->unit));
    of.to = of.from + c->t->turn.product[of.of] * share;
    c->freed[of.of][i] = greater(c->freed[of.of][i], of.to);
    c->unit = of.to;
    bar(c, of);
    return of.to;
}

/* Bars of the first team, for those that do the same at the same time.  */
static void together(Course *c) {
    int n = c->t->n;
    for (int team = 1; team < c->t->teams; team++)
        for (int i = 0; i < n; i++) {
            MpBar b = c->t->bar[i];
            b.team = team;
            if (b.kind == BAR_PRODUCT || b.kind == BAR_POWERS || b.kind == BAR_END) bar(c, b);
        }
}

static double end(Course *c, MpBar of, double from) {
    double done = from + c->t->turn.end;
    of.turn = 0;
    of.kind = BAR_END;
    of.from = from;
    of.to = done;
    if (done > from) bar(c, of);
    of.kind = BAR_SENT;
    of.from = done;
    of.to = done + c->t->turn.sent;
    bar(c, of);
    return done;
}

static void contract(Course *c) {
    const MpTimeline *t = c->t;
    bool in_turn = c->r->grid == GRID_PINGPONG;
    double free[2] = {0, 0}, ended[2] = {0, 0};       /* a team for products; of all of a tile */
    for (int i = 0; i < t->tiles * t->turns; i++) {
        MpBar of = {.tile = i / t->turns, .turn = i % t->turns};
        if (in_turn) of.team = of.tile % 2;
        fill(c, 0, i);
        double done = product(c, of, free[of.team], 1);
        c->unit += t->turn.wait;
        if (of.turn < t->turns - 1) continue;
        free[of.team] = done + t->turn.apart;
        ended[of.team] = end(c, of, greater(done, ended[of.team]));
    }
    if (!in_turn) together(c);
}

/* Powers of a team from `from` on or later.  */
static double powers(Course *c, MpBar of, double from, double share) {
    of.kind = BAR_POWERS;
    of.from = greater(from, c->powers);
    of.to = of.from + c->t->turn.powers * share;
    c->powers = of.to;
    bar(c, of);
    return of.to;
}

/* A turn of a team: the first product and its powers, beside or behind the second product of the
 * turn before.  `ready`: when that turn's powers are there.  */
static double chain_turn(Course *c, MpBar of, double ready, double share) {
    const MpTimeline *t = c->t;
    double wait = t->turn.wait * share;
    bool within = rprog_overlaps_within(c->r), last = of.turn == t->turns;
    MpBar before = of;
    before.turn--;
    before.of = 1;
    double results = ready, scores = ready;
    if (of.turn > 0 && (!within || last)) results = product(c, before, ready, share);
    if (!last) scores = product(c, of, within ? ready : results, share);
    if (of.turn > 0 && within && !last) results = product(c, before, ready, share);
    if (last) return results;
    double made = powers(c, of, scores, share);
    if (share == 1) return greater(made, results) + wait;
    c->unit += wait;
    c->powers += wait;
    return greater(made, results);
}

static void chain(Course *c) {
    const MpTimeline *t = c->t;
    bool stations = rprog_overlaps_between(c->r);
    int teams = stations ? t->teams : 1;
    double *ready = ARENA_ARRAY(c->arena, double, teams);
    for (int turn = 0; turn <= t->turns; turn++) {
        if (turn < t->turns) fill(c, 0, turn);
        for (int team = 0; team < teams; team++) {
            MpBar of = {.team = team, .turn = turn};
            ready[team] = chain_turn(c, of, ready[team], 1.0 / teams);
        }
        if (turn < t->turns) fill(c, 1, turn);
    }
    double last = 0;
    for (int team = 0; team < teams; team++) last = greater(last, ready[team]);
    end(c, (MpBar){.team = 0}, last);
    if (!stations) together(c);
}

bool mp_timeline(Arena *a, const Problem *p, const RProg *r, const Device *dev, MpTimeline *out) {
    if (r->skeleton != SK_CONTRACT && r->skeleton != SK_CHAIN) return false;
    Estimate e;
    Model m = mp_model(p, dev);
    m.wants_turn = true;
    mp_estimate_program(&m, r, NULL, &e);
    bool two = r->skeleton == SK_CHAIN && !rprog_chain_streams(p, r);
    bool groups = dev->unit[r->unit].b_smem;
    double tiles = r->grid == GRID_PINGPONG ? MOST_TILES : rprog_persistent(r) && !two ? 2 : 1;
    *out = (MpTimeline){.rings = two ? 2 : 1, .roles = groups, .turn = e.turn, .clock = e.clock,
                        .tiles = (int)lesser(e.turn.tiles * rprog_in_turn(r), tiles)};
    out->slots = two ? r->stages : rprog_steps_ahead(p, r) + 1;
    out->teams = groups ? rprog_computing(dev, r) / (WARP * RPROG_TEAM) : 1;
    if (e.turn.turns < 1 || e.turn.turns > MOST_TURNS) return false;
    out->turns = (int)e.turn.turns;
    Course c = {.t = out, .r = r, .arena = a};
    for (int i = 0; i < out->rings; i++) {
        c.ready[i] = ARENA_ARRAY(a, double, out->turns * out->tiles);
        c.freed[i] = ARENA_ARRAY(a, double, out->turns * out->tiles);
    }
    if (two) chain(&c);
    else contract(&c);
    return true;
}
