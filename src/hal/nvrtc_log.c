#include "hal/nvrtc_library.h"

#include <string.h>

/* ptxas -v writes, for every kernel,
 *   ptxas info    : Compiling entry function 'NAME' for 'sm_90a'
 *   ptxas info    : Function properties for NAME
 *   ptxas         .     256 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
 *   ptxas info    : Used 57 registers, used 1 barriers, 256 bytes smem, 364 bytes cmem[0]
 * Device functions that were not inlined have properties but are not compiled as an entry.  */

typedef struct {
    const char *at;
    size_t len;
} Line;

static bool next_line(const char **log, Line *line) {
    if (!**log)
        return false;
    line->at = *log;
    line->len = strcspn(*log, "\n");
    *log += line->len + ((*log)[line->len] == '\n');
    return true;
}

static const char *find(Line line, const char *word) {
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= line.len; i++)
        if (!memcmp(line.at + i, word, n))
            return line.at + i;
    return NULL;
}

/* The number that stands before `word` in a line ("0 bytes spill stores"); 0 if there is none.  */
static int64_t amount(Line line, const char *word) {
    const char *at = find(line, word);
    if (!at || at == line.at || at[-1] != ' ')
        return 0;
    const char *digit = at - 1;
    while (digit > line.at && digit[-1] >= '0' && digit[-1] <= '9')
        digit--;
    int64_t v = 0;
    for (; *digit >= '0' && *digit <= '9' && v < (int64_t)1 << 50; digit++)
        v = v * 10 + *digit - '0';
    return v;
}

int nvrtc_log_resources(Arena *a, const char *log, KernelResources **out) {
    static const char entry[] = "Compiling entry function '", properties[] = "Function properties";
    KernelResources *kernels = NULL, *k = NULL;
    size_t n = 0, cap = 0;
    bool own = false;    /* the properties at hand are those of kernel k */
    for (Line line; next_line(&log, &line);) {
        const char *at = find(line, entry);
        if (at) {
            at += sizeof entry - 1;
            const char *end = memchr(at, '\'', (size_t)(line.at + line.len - at));
            if (!end)
                continue;
            kernels = arena_grow(a, kernels, &cap, n + 1, sizeof *kernels);
            k = &kernels[n++];
            *k = (KernelResources){.kernel = arena_strndup(a, at, (size_t)(end - at))};
        } else if (k && (at = find(line, properties))) {
            size_t len = strlen(k->kernel);
            own = line.len > len && !memcmp(line.at + line.len - len, k->kernel, len) &&
                  line.at[line.len - len - 1] == ' ';
        } else if (k && own && find(line, "bytes stack frame")) {
            k->stack = amount(line, "bytes stack frame");
            k->spill_stores = amount(line, "bytes spill stores");
            k->spill_loads = amount(line, "bytes spill loads");
        } else if (k && find(line, "Used ") && find(line, " registers")) {
            k->registers = (int)amount(line, "registers");
            k->barriers = (int)amount(line, "barriers");
            k->static_smem = amount(line, "bytes smem");
        }
    }
    *out = kernels;
    return (int)n;
}

/* C7508: setmaxnreg is ignored.  C7510, C7511, C7519: wgmma is serialised because its
 * accumulators are touched while in flight.  ptxas calls them information.  */
const char *nvrtc_log_unsound(Arena *a, const char *log) {
    static const char *const codes[] = {"(C7508)", "(C7510)", "(C7511)", "(C7519)"};
    for (Line line; next_line(&log, &line);)
        for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
            if (find(line, codes[i]))
                return arena_strndup(a, line.at, line.len);
    return NULL;
}

/* ptxas writes to standard error that it finds no memory, and to the log only that there are
 * errors, of which it names none.  */
bool nvrtc_log_memory(const char *log) {
    bool aborted = false, named = false;
    for (Line line; next_line(&log, &line);) {
        if (find(line, "out of memory") || find(line, "Memory allocation failure")) return true;
        bool end = find(line, "ptxas fatal") && find(line, "aborted due to errors");
        aborted |= end;
        named |= !end && find(line, "error");
    }
    return aborted && !named;
}

const KernelResources *nvrtc_log_declares(Arena *a, const char *log, int64_t least) {
    KernelResources *kernel;
    int n = nvrtc_log_resources(a, log, &kernel), most = -1;
    const char *at = log;
    for (Line line; next_line(&at, &line);)
        if (find(line, "error")) return NULL;
    for (int i = 0; i < n; i++) {
        bool more = most < 0 || kernel[i].static_smem > kernel[most].static_smem;
        if (kernel[i].static_smem > least && more) most = i;
    }
    return most < 0 ? NULL : &kernel[most];
}

const char *nvrtc_log_errors(Arena *a, const char *log) {
    enum { MAX_LINES = 4, MAX_LEN = 400 };
    for (int wanted = 1; wanted >= 0; wanted--) {
        Buf b = buf_new(a);
        int n = 0;
        const char *at = log;
        for (Line line; n < MAX_LINES && next_line(&at, &line);) {
            if (!line.len || (wanted && !find(line, "error")))
                continue;
            buf_puts(&b, n++ ? "; " : "");
            buf_add(&b, line.at, line.len < MAX_LEN ? line.len : MAX_LEN);
        }
        if (n)
            return buf_str(&b);
    }
    return "no reason was given";
}

const char *nvrtc_log_timeless(Arena *a, const char *log) {
    Buf b = buf_new(a);
    for (Line line; next_line(&log, &line);) {
        if (find(line, ": Compile time ="))
            continue;
        buf_add(&b, line.at, line.len);
        buf_putc(&b, '\n');
    }
    return buf_str(&b);
}
