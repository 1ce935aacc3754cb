/* Outputs of NVRTC as one.
 *
 * A module of PTX is a head, which ends with `.address_size`, and items: functions, variables, and
 * declarations of both.  An item ends with a semicolon, or with the brace that closes its body.  */
#include "base/elf.h"
#include "hal/nvrtc.h"

#include <string.h>

typedef struct {
    const char *at;
    size_t len;
} Words;

static bool equal(Words x, Words y) { return x.len == y.len && !memcmp(x.at, y.at, x.len); }

typedef struct {
    Words text, name;         /* name: "" where it has none */
    bool entry, declared;     /* it is a kernel; it is defined elsewhere */
    int from;                 /* which output */
} Item;

typedef struct {
    Arena *a;
    Item *item;
    size_t n, cap;
} Items;

/* ---- reading ---- */
static size_t word(const char *s) {
    return strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$%");
}

/* Bytes of a comment or a string that begins here; else 0.  */
static size_t skipped(const char *s) {
    if (s[0] == '/' && s[1] == '/') return strcspn(s, "\n");
    if (s[0] != '"') return 0;
    size_t n = 1 + strcspn(s + 1, "\"");
    return n + (s[n] == '"');
}

/* Behind blanks and comments.  */
static const char *next_item(const char *s) {
    for (;;) {
        s += strspn(s, " \t\n");
        if (s[0] != '/') return s;
        s += strcspn(s, "\n");
    }
}

static size_t item_length(const char *s) {
    int depth = 0;
    for (size_t i = 0, n; s[i]; i += n) {
        n = skipped(s + i);
        if (n) continue;
        n = 1;
        depth += s[i] == '{' || s[i] == '(';
        depth -= s[i] == '}' || s[i] == ')';
        if (depth || (s[i] != ';' && s[i] != '}')) continue;
        if (s[i] == '}') n += strspn(s + i + 1, " \t\n");
        if (s[i] == ';' || s[i + n] != ';') return i + 1;
    }
    return strlen(s);
}

/* The first word outside of parentheses that is neither a directive nor a number.  */
static Words name_of(Words text) {
    int depth = 0;
    for (size_t i = 0, n; i < text.len; i += n) {
        const char *s = text.at + i;
        n = skipped(s);
        if (n) continue;
        n = *s == '.' ? 1 + word(s + 1) : word(s);
        bool digit = *s >= '0' && *s <= '9';
        if (n && *s != '.' && !digit && !depth) return (Words){s, n};
        depth += (*s == '(') - (*s == ')');
        n += !n;
    }
    return (Words){"", 0};
}

static bool begins(Words text, const char *with) {
    size_t n = strlen(with);
    return text.len >= n && !memcmp(text.at, with, n);
}

/* The items of a module; returns its head.  */
static Words read_module(Items *x, const char *ptx, int from) {
    const char *head = strstr(ptx, ".address_size"), *s = head ? head : ptx;
    s += strcspn(s, "\n");
    Words first = {ptx, (size_t)(s - ptx)};
    for (s = next_item(s); *s; s = next_item(s)) {
        Words text = {s, item_length(s)};
        x->item = arena_grow(x->a, x->item, &x->cap, x->n + 1, sizeof *x->item);
        x->item[x->n++] = (Item){.text = text, .name = name_of(text), .from = from,
                                 .entry = begins(text, ".visible .entry"),
                                 .declared = begins(text, ".extern .func")};
        s += text.len;
    }
    return first;
}

/* ---- names ---- */
/* Does one of the first n items say the same?  */
static bool is_known(const Items *x, size_t n, const Item *what) {
    for (size_t i = 0; i < n; i++)
        if (equal(x->item[i].text, what->text)) return true;
    return false;
}

static bool is_taken(const Items *x, size_t n, const Item *what) {
    for (size_t i = 0; i < n; i++)
        if (equal(x->item[i].name, what->name)) return true;
    return false;
}

/* Is a name of the items from `first` on that of another item before them?  */
static bool clashes(const Items *x, size_t first) {
    for (size_t i = first; i < x->n; i++)
        if (is_taken(x, first, &x->item[i]) && !is_known(x, first, &x->item[i])) return true;
    return false;
}

static bool is_renamed(const Items *x, size_t first, Words w) {
    for (size_t i = first; i < x->n; i++) {
        const Item *y = &x->item[i];
        if (!y->entry && !y->declared && equal(y->name, w)) return true;
    }
    return false;
}

/* A module whose items from `first` on have names of their own, but for kernels and what is defined
 * elsewhere.  */
static const char *renamed(const Items *x, size_t first, const char *ptx) {
    Buf out = buf_new(x->a);
    for (size_t n; *ptx; ptx += n) {
        n = *ptx == '.' ? 1 + word(ptx + 1) : word(ptx);
        bool other = n && is_renamed(x, first, (Words){ptx, n});
        buf_add(&out, ptx, n += !n);
        if (other) buf_printf(&out, "_of_%d", x->item[first].from);
    }
    return buf_str(&out);
}

static void join_ptx(Arena *a, const NvrtcOutput *const *from, int n, NvrtcOutput *out) {
    Items x = {.a = a};
    Buf all = buf_new(a);
    for (int i = 0; i < n; i++) {
        size_t first = x.n;
        Words head = read_module(&x, from[i]->ptx, i);
        if (clashes(&x, first)) {
            const char *own = renamed(&x, first, from[i]->ptx);
            x.n = first;
            head = read_module(&x, own, i);
        }
        if (i == 0) buf_add(&all, head.at, head.len);
        for (size_t k = first; k < x.n; k++) {
            if (is_known(&x, first, &x.item[k])) continue;
            buf_puts(&all, "\n\n");
            buf_add(&all, x.item[k].text.at, x.item[k].text.len);
        }
    }
    buf_puts(&all, "\n");
    out->ptx = buf_str(&all);
    out->ptx_len = all.len;
}

/* ---- the rest ---- */
static size_t round_up(size_t len) { return (len + ELF_ALIGN - 1) / ELF_ALIGN * ELF_ALIGN; }

static void join_cubins(Arena *a, const NvrtcOutput *const *from, int n, NvrtcOutput *out) {
    int kernels = 0;
    for (int i = 0; i < n; i++) {
        out->cubin_len = round_up(out->cubin_len) + from[i]->cubin_len;
        kernels += from[i]->n_kernel;
    }
    char *to = arena_alloc(a, out->cubin_len + 1);
    size_t at = 0;
    out->cubin = to;
    out->kernel = ARENA_ARRAY(a, KernelResources, kernels);
    for (int i = 0; i < n; at = round_up(at + from[i++]->cubin_len)) {
        memcpy(to + at, from[i]->cubin, from[i]->cubin_len);
        for (int k = 0; k < from[i]->n_kernel; k++) {
            KernelResources *r = &out->kernel[out->n_kernel++];
            *r = from[i]->kernel[k];
            r->kernel = arena_strdup(a, r->kernel);
            r->image += at;
        }
    }
}

void nvrtc_join(Arena *a, const NvrtcOutput *const *from, int n, NvrtcOutput *out) {
    Buf log = buf_new(a);
    *out = (NvrtcOutput){.ptx = ""};
    for (int i = 0; i < n; i++) {
        buf_puts(&log, from[i]->log);
        out->ms += from[i]->ms;
    }
    out->log = buf_str(&log);
    if (from[0]->ptx_len) join_ptx(a, from, n, out);
    if (from[0]->cubin) join_cubins(a, from, n, out);
}
