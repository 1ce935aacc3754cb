/* The time line of a block's roles: a row for each, a bar for each turn.  Of long tiles the middle
 * is left out, from one turn of the steady state to another one.  */
#include "driver/handle/picture.h"
#include "microperf/timeline.h"
#include <string.h>

enum { WIDTH = 1010, LEFT = 130, RIGHT = 980, TOP = 84, BAR = 24, ROW = 38, GAP = 36, LETTER = 7,
       MOST_BARS = 36, MOST_CUTS = 3, MOST_LINES = 6, TICKS = 9, TICK = 70 };

typedef struct {
    double from, to;          /* clocks that are left out */
    int turns;
} Cut;

typedef struct {
    const Device *dev;
    const RProg *r;
    Buf *out;
    MpTimeline t;
    Cut cut[MOST_CUTS];
    int n_cut;
    double scale;             /* pixels of a clock */
    double copies, teams, sent, bottom;   /* y of the first row of each kind */
    double team;              /* from one to the next */
} Line;

/* ---- clocks to pixels ---- */

/* The beginning of a turn's first product by any team.  */
static double turn_begins(const MpTimeline *t, int tile, int turn) {
    double from = -1;
    for (int i = 0; i < t->n; i++) {
        const MpBar *b = &t->bar[i];
        bool it = b->kind == BAR_PRODUCT && b->of == 0 && b->tile == tile && b->turn == turn;
        if (it && (from < 0 || b->from < from)) from = b->from;
    }
    return from;
}

/* Leaves out what is between the first turns, in which the ring fills, and the last ones.  */
static void choose_cuts(Line *c) {
    const MpTimeline *t = &c->t;
    int each = t->rings + (t->turn.powers > 0);           /* bars of a turn in the fullest row */
    if (t->tiles * t->turns * each <= MOST_BARS) return;
    for (int tile = 0; tile < t->tiles; tile++) {
        int first = tile == 0 ? t->slots + 2 : 2, last = t->turns - 3;
        if (last - first < 2) continue;
        c->cut[c->n_cut++] = (Cut){turn_begins(t, tile, first), turn_begins(t, tile, last),
                                   last - first};
    }
}

/* Where a clock is; of one that is left out, the place before the gap or behind it.  */
static double at(const Line *c, double clock, bool behind) {
    double x = LEFT, left_out = 0;
    for (int i = 0; i < c->n_cut; i++) {
        const Cut *cut = &c->cut[i];
        if (clock >= cut->to || (behind && clock > cut->from)) {
            x += GAP;
            left_out += cut->to - cut->from;
            clock = clock < cut->to ? cut->to : clock;
        } else if (clock > cut->from) {
            clock = cut->from;
        }
    }
    return x + (clock - left_out) * c->scale;
}

static double end_of(const MpTimeline *t) {
    double end = 0;
    for (int i = 0; i < t->n; i++)
        if (t->bar[i].to > end) end = t->bar[i].to;
    return end;
}

static void lay_out(Line *c) {
    double shown = end_of(&c->t);
    choose_cuts(c);
    for (int i = 0; i < c->n_cut; i++) shown -= c->cut[i].to - c->cut[i].from;
    c->scale = (RIGHT - LEFT - GAP * c->n_cut) / shown;
    c->copies = TOP;
    c->teams = c->copies + c->t.rings * ROW;
    c->team = c->t.turn.powers > 0 ? ROW + BAR + 2 : ROW;
    c->sent = c->teams + c->t.teams * c->team;
    c->bottom = c->sent + ROW;
}

/* ---- what is drawn ---- */

static const char *words(const Line *c, const char *what, int n) {
    return arena_printf(c->out->arena, "%s %d", what, n);
}

static void role(const Line *c, double y, const char *name) {
    svg_text(c->out, 20, y + 17, "", name);
    svg_rect(c->out, LEFT, y, RIGHT - LEFT, BAR, "class=\"all\"");
}

static void roles(const Line *c) {
    const MpTimeline *t = &c->t;
    for (int i = 0; i < t->rings; i++)
        role(c, c->copies + i * ROW, t->rings == 1 ? "load" : i ? "load v" : "load b");
    for (int i = 0; i < t->teams; i++) {
        double y = c->teams + i * c->team;
        role(c, y, t->roles ? words(c, "warpgroup", i) : "all warps");
        if (t->turn.powers > 0) role(c, y + BAR + 2, "");
    }
    role(c, c->sent, "store");
}

static double y_of(const Line *c, const MpBar *b) {
    if (b->kind == BAR_COPY || b->kind == BAR_ASKED) return c->copies + b->of * ROW;
    if (b->kind == BAR_SENT) return c->sent;
    return c->teams + b->team * c->team + (b->kind == BAR_POWERS ? BAR + 2 : 0);
}

static const char *class_of(const MpBar *b) {
    switch (b->kind) {
    case BAR_COPY: return b->of ? "class=\"b\"" : "class=\"a\"";
    case BAR_PRODUCT: return b->of ? "class=\"two\"" : "class=\"one\"";
    case BAR_POWERS: return "class=\"powers\"";
    default: return "class=\"ends\"";
    }
}

static bool left_out(const Line *c, const MpBar *b) {
    for (int i = 0; i < c->n_cut; i++)
        if (b->from >= c->cut[i].from && b->to <= c->cut[i].to) return true;
    return false;
}

/* The stage of a copy and of what reads it; the tile of outputs.  */
static const char *label_of(const Line *c, const MpBar *b) {
    int fill = b->tile * c->t.turns + b->turn;
    if (b->kind == BAR_SENT) return words(c, "tile", b->tile);
    if (b->kind == BAR_COPY || b->kind == BAR_PRODUCT)
        return arena_printf(c->out->arena, "%d", fill % c->t.slots);
    return "";
}

/* A copy under way is a line below its bar, since several are.  */
static void asked(const Line *c, const MpBar *b, double x0, double x1) {
    int fill = b->tile * c->t.turns + b->turn;
    int lines = c->t.slots < MOST_LINES ? c->t.slots : MOST_LINES;
    double y = y_of(c, b) + BAR + 2 + 2 * (fill % lines);
    svg_line(c->out, x0, y, x1, y, "class=\"asked\"");
}

static void draw(const Line *c, const MpBar *b) {
    double x0 = at(c, b->from, true), x1 = at(c, b->to, false), y = y_of(c, b);
    if (left_out(c, b)) return;
    if (b->kind == BAR_ASKED) {
        asked(c, b, x0, x1);
        return;
    }
    const char *label = label_of(c, b);
    svg_rect(c->out, x0, y, x1 - x0, BAR, class_of(b));
    if (x1 - x0 > LETTER * (double)strlen(label) + 4)
        svg_text(c->out, (x0 + x1) / 2, y + 16, "text-anchor=\"middle\" font-size=\"11\"", label);
}

static void gaps(const Line *c) {
    for (int i = 0; i < c->n_cut; i++) {
        double x = at(c, c->cut[i].from, false);
        svg_rect(c->out, x, TOP - 4, GAP, c->bottom - TOP + 4, "class=\"paper\"");
        svg_text(c->out, x + GAP / 2, TOP - 8, "text-anchor=\"middle\" class=\"soft\"",
                 arena_printf(c->out->arena, "%d more", c->cut[i].turns));
    }
}

/* Clocks from tick to tick: 1, 2 or 5 times a power of ten.  */
static double tick_of(double clocks) {
    static const double by[] = {2, 2.5, 2};
    double step = 1;
    for (int i = 0; step < clocks; i++) step *= by[i % 3];
    return step;
}

static void axis(const Line *c) {
    double end = end_of(&c->t), step = tick_of((RIGHT - LEFT) / c->scale / TICKS), last = 0;
    for (double clock = 0; clock <= end; clock += step) {
        double x = at(c, clock, false);
        if (at(c, clock, true) > x || (clock > 0 && x - last < TICK)) continue;
        last = x;
        svg_line(c->out, x, c->bottom, x, c->bottom + 5, "class=\"cut\"");
        svg_text(c->out, x, c->bottom + 18,
                 "text-anchor=\"middle\" font-size=\"11\" class=\"soft\"",
                 arena_printf(c->out->arena, "%.0f", clock));
    }
    svg_text(c->out, 20, c->bottom + 18, "class=\"soft\" font-size=\"11\"", "clocks of the SM");
}

static double key(const Line *c, double x, const char *class, const char *text) {
    svg_rect(c->out, x, c->bottom + 36, 14, 14, arena_printf(c->out->arena, "class=\"%s\"", class));
    svg_text(c->out, x + 20, c->bottom + 48, "", text);
    return x + 40 + LETTER * (double)strlen(text);
}

static void keys(const Line *c) {
    bool two = c->t.rings > 1;
    double x = key(c, 20, "a", two ? "copy of b" : "copy");
    if (two) x = key(c, x, "b", "copy of v");
    x = key(c, x, "one", two ? "scores" : "products");
    if (two) x = key(c, x, "two", "results");
    if (two) x = key(c, x, "powers", "powers and folds");
    x = key(c, x, "ends", "end and stores");
    key(c, x, "all", "waits");
    svg_text(c->out, 20, c->bottom + 70, "class=\"soft\"",
             "A number is a stage of the ring. A line below a copy: asked for, not there yet.");
}

static void head(const Line *c) {
    const MpTimeline *t = &c->t;
    const MpTurn *u = &t->turn;
    const char *more = "";
    if (t->rings > 1)
        more = arena_printf(c->out->arena, " and %.0f; powers and folds %.0f", u->product[1],
                            u->powers);
    svg_text(c->out, 20, 26, "font-weight=\"600\"",
             arena_printf(c->out->arena, "A block over time, by the model: %d stages, %d turns%s",
                          t->slots, t->turns, t->tiles > 1 ? " a tile" : ""));
    svg_text(c->out, 20, 46, "class=\"soft\"",
             arena_printf(c->out->arena, "a turn, in clocks of %.2f ns: %s %.0f%s; %s %.0f%s",
                          1e9 / t->clock, c->dev->mover[c->r->load[LOAD_B].mover].name, u->copy[0],
                          t->rings > 1 ? arena_printf(c->out->arena, " and %.0f", u->copy[1]) : "",
                          c->dev->unit[c->r->unit].name, u->product[0], more));
}

void plan_timeline(const Problem *p, const Device *dev, const RProg *r, Buf *out) {
    Line c = {.dev = dev, .r = r, .out = out};
    if (!mp_timeline(out->arena, p, r, dev, &c.t)) return;
    lay_out(&c);
    picture_begin(out, "timeline", WIDTH, (int)c.bottom + 84);
    head(&c);
    roles(&c);
    for (int i = 0; i < c.t.n; i++) draw(&c, &c.t.bar[i]);
    gaps(&c);
    axis(&c);
    keys(&c);
    svg_end(out);
}
