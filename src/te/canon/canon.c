/* The canonical form, so that plans do not depend on how an op is spelled.  No rule decides by
 * cost, and none changes a value by more than docs/te.md leaves free: what is only shorter, such as
 * x * 0.0 or x / x, is no canonical form of anything.  */
#include "te/canon/canon.h"

typedef bool (*CanonRule)(Norm *n);

void normalize_canon(Norm *n) {
    static const CanonRule rule[] = {canon_spelling, canon_views, normalize_dead, canon_scan,
                                      canon_exclusive_scan, canon_degenerate_axes, canon_join_axes,
                                      canon_cut_axes, canon_copies};
    enum { RULES = sizeof rule / sizeof *rule };
    for (int still = 0, r = 0; still < RULES; r = (r + 1) % RULES)
        still = rule[r](n) ? 0 : still + 1;
}
