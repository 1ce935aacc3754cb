/* What is believed of a few weights: Bayesian linear regression, one observation at a time.
 *
 *     y = x . w + noise,   w_i ~ N(0, s sd_i^2),   noise ~ N(0, s noise^2),   1 / s ~ Gamma
 *
 * `s`, by which all stated variances are off, is itself learned: its prior counts as `weight`
 * observations that are off by as much as stated.  The prior is conjugate, so what is known after
 * any observations, in any order, is a belief again (Gelman et al., "Bayesian Data Analysis",
 * 3rd ed., 14.8).  An observation takes n^2 operations.  */
#ifndef ROLLER_BASE_BELIEF_H
#define ROLLER_BASE_BELIEF_H
#include "base/arena.h"

typedef struct {
    int n;
    double noise2;
    double *mean;             /* per weight */
    double *cov;              /* n x n, of the weights, for s = 1 */
    double weight, squares;   /* observations, those of the prior included; their squared errors
                               * in units of what was expected */
    double *scratch;
} Belief;

Belief belief_new(Arena *a, int n, const double *sd, double noise, double weight);
/* All weights are believed as `from` has them; the same n.  */
void belief_copy(Belief *to, const Belief *from);
void belief_learn(Belief *b, const double *x, double y);
/* What x . w is expected to be, and its variance without noise, s being belief_scale.  */
double belief_mean(const Belief *b, const double *x);
double belief_variance(const Belief *b, const double *x);
/* By how much all variances of the n rows of weights would fall in sum, were y of x observed.  */
double belief_lesson(const Belief *b, const double *x, const double *rows, int n);
/* How large s seems: squared errors over observations; 1 at first.  */
double belief_scale(const Belief *b);
/* Of a normal y, how far it is expected to be below `best`: E[max(0, best - y)].  */
double belief_improvement(double mean, double sd, double best);
#endif
