#include "base/stats.h"

#include <stdlib.h>

static int ascending(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

void stats_sort(double *v, int n) { qsort(v, (size_t)n, sizeof *v, ascending); }

/* Linear between the two neighbours.  */
static double quantile(const double *sorted, int n, double q) {
    double at = q * (n - 1);
    int i = (int)at;
    if (i + 1 >= n) return sorted[n - 1];
    return sorted[i] + (at - i) * (sorted[i + 1] - sorted[i]);
}

double stats_median(const double *sorted, int n) { return n ? quantile(sorted, n, 0.5) : 0; }

double stats_spread(const double *sorted, int n) {
    double middle = stats_median(sorted, n);
    return middle > 0 ? (quantile(sorted, n, 0.75) - quantile(sorted, n, 0.25)) / middle : 0;
}
