#include "base/nearest.h"

#include <stdbool.h>
#include <string.h>

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

/* Insertions, deletions, substitutions and swaps of neighbours; a change of case costs nothing.  */
static int distance(const char *a, const char *b) {
    int rows[3][NEAREST_MAX_NAME + 1];
    int n = (int)strlen(b), i;
    for (int j = 0; j <= n; j++) rows[0][j] = j;
    for (i = 0; a[i]; i++) {
        int *row = rows[(i + 1) % 3], *above = rows[i % 3], *before = rows[(i + 2) % 3];
        row[0] = i + 1;
        for (int j = 0; j < n; j++) {
            bool same = lower(a[i]) == lower(b[j]);
            int least = above[j] + !same;
            if (row[j] + 1 < least) least = row[j] + 1;
            if (above[j + 1] + 1 < least) least = above[j + 1] + 1;
            bool swapped =
                i && j && lower(a[i]) == lower(b[j - 1]) && lower(a[i - 1]) == lower(b[j]);
            if (swapped && before[j - 1] + 1 < least) least = before[j - 1] + 1;
            row[j + 1] = least;
        }
    }
    return rows[i % 3][n];
}

void nearest_offer(Nearest *n, const char *candidate) {
    size_t len = strlen(n->name), most = len < 3 ? 0 : len / 3;
    if (strcmp(n->name, candidate) == 0 || strlen(candidate) > NEAREST_MAX_NAME) return;
    int d = distance(n->name, candidate);
    if ((size_t)d > most || (n->best && d >= n->distance)) return;
    n->best = candidate;
    n->distance = d;
}
