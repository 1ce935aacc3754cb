/* What is around a statement in a parting of an op: the kernels within a few steps from its own to
 * those that they read from or write for, and the statements that these come from, as a part.
 * Inside of fusion.c.  */
#ifndef ROLLER_DRIVER_PLAN_NEAR_H
#define ROLLER_DRIVER_PLAN_NEAR_H
#include "driver/plan/parting.h"

typedef struct {
    int *first, *item;        /* of i: item[first[i]] up to item[first[i + 1]] */
} NearLists;

typedef struct {
    Arena *a;
    const TeCanonical *op;
    int *maker;               /* of the op: tensor -> statement, -1: none */
    NearLists reader;         /* statement -> those that read its tensor */
    const Parting *parting;
    NearLists beside, home;   /* group -> groups; statement of the op -> its groups */
    int *seen_group, *seen_stmt, turn;    /* == turn: seen */
} Near;

/* In the order of the op: groups of the parting, statements of the op.  */
typedef struct {
    int *group, n_group;
    int *stmt, n;
    TeCanonical op;           /* what near_cut makes of them */
} NearPart;

void near_open(Arena *a, const TeCanonical *op, Near *out);
/* Looks at another parting of the op.  */
void near_part_ways(Near *x, const Parting *p);
/* The groups around some statements, and their statements.  A group that reads from or writes for
 * more than a few dozen is not looked past.  */
void near_find(Near *x, const int *stmt, int n, NearPart *out);
void near_cut(Near *x, NearPart *p);
#endif
