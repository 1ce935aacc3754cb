#include "base/belief.h"

#include <math.h>
#include <string.h>

Belief belief_new(Arena *a, int n, const double *sd, double noise, double weight) {
    Belief b = {.n = n, .noise2 = noise * noise, .weight = weight, .squares = weight};
    b.mean = ARENA_ARRAY(a, double, n + 1);
    b.cov = ARENA_ARRAY(a, double, (size_t)n * (size_t)n + 1);
    b.scratch = ARENA_ARRAY(a, double, n + 1);
    for (int i = 0; i < n; i++) b.cov[(size_t)i * (size_t)n + (size_t)i] = sd[i] * sd[i];
    return b;
}

void belief_copy(Belief *to, const Belief *from) {
    size_t n = (size_t)from->n;
    memcpy(to->mean, from->mean, n * sizeof *to->mean);
    memcpy(to->cov, from->cov, n * n * sizeof *to->cov);
    to->noise2 = from->noise2;
    to->weight = from->weight;
    to->squares = from->squares;
}

/* x is mostly zeros: out = cov x, and x . cov x.  */
static double spread(const Belief *b, const double *x, double *out) {
    size_t n = (size_t)b->n;
    double sum = 0;
    memset(out, 0, n * sizeof *out);
    for (size_t i = 0; i < n; i++) {
        const double *row = b->cov + i * n;
        if (x[i] == 0) continue;
        for (size_t k = 0; k < n; k++) out[k] += x[i] * row[k];
    }
    for (size_t i = 0; i < n; i++) sum += x[i] * out[i];
    return sum;
}

void belief_learn(Belief *b, const double *x, double y) {
    size_t n = (size_t)b->n;
    double off = y - belief_mean(b, x), *g = b->scratch;
    double expected = spread(b, x, g) + b->noise2;
    for (size_t i = 0; i < n; i++) {
        if (g[i] == 0) continue;
        b->mean[i] += g[i] / expected * off;
        for (size_t k = 0; k < n; k++) b->cov[i * n + k] -= g[i] * g[k] / expected;
    }
    b->weight++;
    b->squares += off * off / expected;
}

double belief_mean(const Belief *b, const double *x) {
    double sum = 0;
    for (int i = 0; i < b->n; i++) sum += x[i] * b->mean[i];
    return sum;
}

double belief_scale(const Belief *b) { return b->squares / b->weight; }

double belief_variance(const Belief *b, const double *x) {
    size_t n = (size_t)b->n;
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; x[i] != 0 && k < n; k++) sum += x[i] * x[k] * b->cov[i * n + k];
    return (sum > 0 ? sum : 0) * belief_scale(b);
}

double belief_lesson(const Belief *b, const double *x, const double *rows, int n) {
    double expected = spread(b, x, b->scratch) + b->noise2, sum = 0;
    for (int r = 0; r < n; r++) {
        const double *row = rows + (size_t)r * (size_t)b->n;
        double shared = 0;
        for (int i = 0; i < b->n; i++) shared += row[i] * b->scratch[i];
        sum += shared * shared;
    }
    return sum / expected * belief_scale(b);
}

double belief_improvement(double mean, double sd, double best) {
    double d = best - mean;
    if (sd <= 0) return d > 0 ? d : 0;
    double z = d / sd;
    double density = exp(-z * z / 2) / sqrt(2 * acos(-1));
    return d * erfc(-z / sqrt(2)) / 2 + sd * density;
}
