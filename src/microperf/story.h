/* Skeletons as rows: how the model prices each of them, chooses between its programs, and tells
 * why.  The table is skeletons.c; a row stands in the file that tells its skeleton's story.
 * Inside microperf.  */
#ifndef ROLLER_MICROPERF_STORY_H
#define ROLLER_MICROPERF_STORY_H
#include "microperf/model.h"

/* What there is to tell of the best of some programs.  */
typedef struct {
    const Problem *p;
    const Device *dev;
    const RProgSet *set;
    const Ranked *best;
    Model m;
    Buf *out;
} Story;

typedef struct {
    /* memo: counts that programs share, or NULL.  */
    void (*estimate)(const Model *m, const RProg *r, CountMemo *memo, Estimate *out);
    /* Gives the program the order of tiles that takes the least; NULL: there is none.  What the
     * kernel takes that makes results of partial ones, with the program's lanes.  */
    void (*order)(const Model *m, RProg *r);
    double (*meeting_us)(const Model *m, const RProg *r);
    /* Among programs that take as long, which first (< 0: a)?  Do near-duplicates agree in what
     * only this skeleton has?  NULL: no matter.  */
    int (*compare)(const RProg *a, const RProg *b);
    bool (*alike)(const RProg *a, const RProg *b);
    /* One line; the section "why this shape".  */
    void (*summary)(const Problem *p, const Device *dev, const RProg *r, Buf *out);
    void (*explain)(const Story *s);
} ModelRow;

#define X(id, name) extern const ModelRow mp_##name;
RPROG_SKELETONS(X)
#undef X
/* skeletons.c */
const ModelRow *mp_skeleton(Skeleton skeleton);

static inline int mp_compare(int64_t a, int64_t b) { return (a > b) - (a < b); }
static inline bool mp_same_stores(const RProg *a, const RProg *b) {
    return a->store_vec == b->store_vec;
}
static inline int mp_wider_stores(const RProg *a, const RProg *b) {
    return mp_compare(b->store_vec, a->store_vec);
}

/* ---- words (words.c) ---- */

static inline const char *mp_plural(int64_t n) { return n == 1 ? "" : "s"; }
void mp_megabytes(Buf *out, double bytes);
void mp_percent(Buf *out, double share);
/* What a pass of a group gives: reductions, outputs.  */
void mp_pass_words(const Te *te, const RowGroup *g, int pass, Buf *out);
/* Of all that are bound by memory: bytes under way; blocks, waves and traffic, of views and of
 * others.  */
void mp_flight_words(const Story *s);
void mp_view_words(const Story *s);
void mp_wave_words(const Story *s);
#endif
