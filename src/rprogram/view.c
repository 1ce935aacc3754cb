/* The skeletons over views: columns, windows, changes of layout.  */
#include "rprogram/internal.h"

const char *rprog_view_check(const Problem *p, const Device *dev, const RProg *r) {
    if (r->skeleton == SK_COLUMN) return rprog_column_check(p, dev, r);
    if (r->skeleton == SK_SCAN) return rprog_scan_check(p, dev, r);
    if (r->skeleton == SK_PERMUTE) return rprog_permute_check(p, dev, r);
    return rprog_window_check(p, dev, r);
}
