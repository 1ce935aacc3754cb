/* Rooms of a layout: their list, and what is asked of it.  */
#include "rprogram/internal.h"

void layout_add(RoomWalk *w, Room x) {
    Layout *l = w->out;
    l->room = arena_grow(w->arena, l->room, &w->rooms, (size_t)l->n_room + 1, sizeof x);
    l->room[l->n_room++] = x;
}

int layout_ring(RoomWalk *w, RingTurn turn, int slots, int64_t bytes) {
    Layout *l = w->out;
    if (!l) return -1;
    l->ring = arena_grow(w->arena, l->ring, &w->rings, (size_t)l->n_ring + 1, sizeof *l->ring);
    l->ring[l->n_ring] = (Ring){
        .turn = turn, .slots = slots, .shares = 1, .bytes = bytes, .at = {-1, -1}};
    return l->n_ring++;
}

void layout_barriers(RoomWalk *w, int ring, int slots, int users, int arrivals) {
    int64_t all = (int64_t)slots * RING_BARRIER;
    if (w->out) {
        Ring *x = &w->out->ring[ring];
        x->at[RING_FULL] = w->end;
        x->arrivals[RING_FULL] = 1;
        if (arrivals > 0) x->at[RING_EMPTY] = w->end + all;
        x->arrivals[RING_EMPTY] = arrivals;
        x->fill = (RingWarps){users, w->r->threads / WARP - users};
        x->use = (RingWarps){0, users};
    }
    w->end += arrivals > 0 ? RING_BARRIERS * all : all;
}

int64_t layout_of_teams(RoomWalk *w, Room x) {
    x.shares = rprog_in_turn(w->r);
    x.share = x.bytes;
    layout_room(w, x);
    return x.shares * x.share;
}

void layout_partials(RoomWalk *w, int64_t at, const RowGroup *g, int64_t n) {
    for (int i = 0; i < g->n; i++) {
        const TeExpr *e = w->p->te->stmt[g->stmt[i]].rhs;
        if (g->role[i] != ROW_REDUCE) continue;
        int64_t values = rprog_partial_values(e, n), beside = rprog_partial_beside(e, n);
        at += layout_of_teams(w, layout_one(ROOM_PARTIALS, i, at, values));
        if (beside > 0) at += layout_of_teams(w, layout_one(ROOM_BESIDE, i, at, beside));
    }
}

static const struct {
    const char *name;
    RoomSpace space;
    RoomOf of;
} kinds[] = {
#define X(id, name, space, of) {name, SPACE_##space, OF_##of},
    LAYOUT_ROOMS(X)
#undef X
};

const char *rprog_room_name(RoomKind kind) { return kinds[kind].name; }

RoomSpace rprog_room_space(RoomKind kind) { return kinds[kind].space; }

RoomOf rprog_room_of(RoomKind kind) { return kinds[kind].of; }

const Room *rprog_room(const Layout *l, RoomKind kind, int of) {
    for (int i = 0; i < l->n_room; i++) {
        if (l->room[i].kind == kind && l->room[i].of == of) return &l->room[i];
    }
    return NULL;
}

int64_t rprog_room_at(const Layout *l, RoomKind kind, int of) {
    const Room *x = rprog_room(l, kind, of);
    return x ? x->at : 0;
}

bool rprog_over(const Room *a, const Room *b) {
    bool shared = !rprog_room_space(a->kind) && !rprog_room_space(b->kind);
    bool beside = a->ring >= 0 && a->ring == b->ring && a->apart == b->apart;     /* in a slot */
    int64_t end_a = beside ? a->at + a->bytes : rprog_room_end(a);
    int64_t end_b = beside ? b->at + b->bytes : rprog_room_end(b);
    return shared && a->at < end_b && b->at < end_a;
}
