#include "rtile/deal.h"

#include <string.h>

int deal_extent(const Deal *d, int from, int to) {
    int n = 1;
    for (const DealDigit *x = d->digit; x < d->digit + d->n; x++) {
        if (x->step && x->from == from && (to == DEAL_ANY || x->to == to)) n *= x->extent;
    }
    return n;
}

void deal_at(const Deal *d, const int number[DEAL_SPACES], int at[DEAL_SPACES]) {
    int left[DEAL_SPACES];
    for (int i = 0; i < DEAL_SPACES; i++) {
        left[i] = number[i];
        at[i] = 0;
    }
    for (const DealDigit *x = d->digit; x < d->digit + d->n; x++) {
        int n = left[x->from], above = n < x->extent ? 0 : n / x->extent;
        at[x->to] += (n - above * x->extent) * x->step;
        left[x->from] = above;
    }
}

int deal_bits(const Deal *d, int from, int to) {
    int bits = 0, below = 1;
    for (const DealDigit *x = d->digit; x < d->digit + d->n; x++) {
        if (x->from != from) continue;
        if (x->to == to && x->step) bits |= (x->extent - 1) * below;
        below *= x->extent;
    }
    return bits;
}

/* ---- algebra ---- */

/* The digit along `to` with the least step that is at least `from`; NULL: there is none.  */
static const DealDigit *next_step(const Deal *d, int to, int64_t from) {
    const DealDigit *best = NULL;
    for (const DealDigit *x = d->digit; x < d->digit + d->n; x++) {
        bool near = x->extent > 1 && x->to == to && x->step >= from;
        if (near && (!best || x->step < best->step)) best = x;
    }
    return best;
}

/* Do numbers share a place since a step is 0?  */
static bool repeats(const Deal *d) {
    for (const DealDigit *x = d->digit; x < d->digit + d->n; x++)
        if (x->extent > 1 && x->step == 0) return true;
    return false;
}

/* Numbers of a space that lie below a digit of it.  */
static int below(const Deal *d, const DealDigit *of) {
    int n = 1;
    for (const DealDigit *x = d->digit; x < of; x++) n *= x->from == of->from ? x->extent : 1;
    return n;
}

/* Digits that move a place along `to` (DEAL_ANY: anywhere).  */
static int moving(const Deal *d, int to) {
    int n = 0;
    for (const DealDigit *x = d->digit; x < d->digit + d->n; x++)
        n += x->extent > 1 && x->step && (to == DEAL_ANY || x->to == to);
    return n;
}

bool deal_inverse(const Deal *d, Deal *out) {
    Deal inverse = {.n = 0};
    for (int to = 0; to < DEAL_SPACES; to++) {
        const DealDigit *x;
        for (int64_t all = 1; (x = next_step(d, to, all)) != NULL; all *= x->extent) {
            if (x->step != all) return false;
            deal_add(&inverse, x->to, x->from, x->extent, below(d, x));
        }
    }
    *out = inverse;
    return inverse.n == moving(d, DEAL_ANY) && !repeats(d);
}

/* What a digit of inner adds to digits of its space in outer, from that on which has `at` below;
 * `used`: of each, as far as others go.  */
static bool split(const Deal *outer, DealDigit inner, int used[DEAL_DIGITS], Deal *out) {
    int64_t at = 1;
    for (int i = 0; i < outer->n && inner.extent > 1; i++) {
        const DealDigit *x = &outer->digit[i];
        if (x->from != inner.to) continue;
        if (inner.step < at * x->extent) {
            int step = (int)(inner.step / at), room = (x->extent + step - 1) / step;
            int here = inner.extent < room ? inner.extent : room;
            bool whole = here == inner.extent || x->extent % step == 0;
            if (inner.step % at || !whole || inner.extent % here || out->n == DEAL_DIGITS)
                return false;
            used[i] += (here - 1) * step;
            if (used[i] >= x->extent) return false;
            out->digit[out->n++] = (DealDigit){inner.from, x->to, here, step * x->step};
            inner.extent /= here;
            inner.step = (int32_t)(at * x->extent);
        }
        at *= x->extent;
    }
    return inner.extent == 1;
}

bool deal_compose(const Deal *outer, const Deal *inner, Deal *out) {
    int used[DEAL_DIGITS] = {0};
    Deal all = {.n = 0};
    for (int i = 0; i < inner->n; i++) {
        DealDigit x = inner->digit[i];
        if (x.step == 0) all.digit[all.n++] = x;
        else if (!split(outer, x, used, &all)) return false;
        if (all.n == DEAL_DIGITS && i + 1 < inner->n) return false;
    }
    *out = all;
    return true;
}

bool deal_complement(const Deal *d, uint8_t to, int size, uint8_t from, Deal *out) {
    const DealDigit *x;
    int all = 1, met = 0;
    *out = (Deal){.n = 0};
    for (; (x = next_step(d, to, all)) != NULL; all = x->step * x->extent) {
        if (x->step % all || out->n == DEAL_DIGITS) return false;
        if (x->step > all) deal_add(out, from, to, x->step / all, all);
        met++;
    }
    if (met < moving(d, to) || size % all || out->n == DEAL_DIGITS) return false;
    if (size > all) deal_add(out, from, to, size / all, all);
    return true;
}

bool deal_divide(const Deal *d, uint8_t from, int size, uint8_t rest, Deal *out) {
    int all = 1;
    *out = (Deal){.n = 0};
    for (const DealDigit *x = d->digit; x < d->digit + d->n; x++) {
        int own = x->extent;
        if (x->from == from) own = all >= size ? 1 : size / all < own ? size / all : own;
        if (x->from == from && all < size && (size % all || x->extent % own)) return false;
        if (out->n + 2 > DEAL_DIGITS) return false;
        if (own > 1) deal_add(out, x->from, x->to, own, x->step);
        if (own < x->extent) deal_add(out, rest, x->to, x->extent / own, x->step * own);
        if (x->from == from) all *= x->extent;
    }
    return all >= size;
}

/* ---- moves ---- */

static bool same_place(const Deal *a, const int *x, const Deal *b, const int *y) {
    int at[2][DEAL_SPACES];
    deal_at(a, x, at[0]);
    deal_at(b, y, at[1]);
    return memcmp(at[0], at[1], sizeof at[0]) == 0;
}

/* The register in which a lane has what is at place `at` of b; -1: none.  */
static int register_of(const Deal *a, int lane, int registers, const Deal *b, const int *at) {
    for (int r = 0; r < registers; r++) {
        if (same_place(a, (int[DEAL_SPACES]){lane, r}, b, at)) return r;
    }
    return -1;
}

/* Does any lane of the warp have it?  */
static bool in_warp(const Deal *has, int registers, const Deal *wants, const int *at) {
    for (int lane = 0; lane < DEAL_LANES; lane++) {
        if (register_of(has, lane, registers, wants, at) >= 0) return true;
    }
    return false;
}

static int numbers(const Deal *d, int from) {
    int n = 1;
    for (int i = 0; i < d->n; i++) n *= d->digit[i].from == from ? d->digit[i].extent : 1;
    return n;
}

DealMove deal_move(const Deal *has, const Deal *wants, int order[DEAL_MOST]) {
    int registers = numbers(has, DEAL_REGISTER), n = numbers(wants, DEAL_REGISTER);
    DealMove move = MOVE_NONE;
    for (int i = 0; i < n * DEAL_LANES; i++) {
        int at[DEAL_SPACES] = {i % DEAL_LANES, i / DEAL_LANES}, slot = i / DEAL_LANES;
        int r = register_of(has, at[DEAL_LANE], registers, wants, at);
        if (i % DEAL_LANES == 0 && slot < DEAL_MOST) order[slot] = r;
        if (r >= 0 && slot < DEAL_MOST && order[slot] == r) {
            if (r != slot && move < MOVE_REGISTERS) move = MOVE_REGISTERS;
        } else if (in_warp(has, registers, wants, at)) {
            move = MOVE_LANES;
        } else {
            return MOVE_SHARED;
        }
    }
    return move;
}
