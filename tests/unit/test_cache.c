/* The kernel cache: what is a hit, and that all else is a miss that harms nobody.  */
#include "driver/cache/cache.h"
#include "base/file.h"
#include "base/hash.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { MAX_PATH = 512 };
static char scratch[] = "/tmp/roller-cache-XXXXXX";
static char folder[MAX_PATH];

static int make_scratch(void **state) {
    (void)state;
    return mkdtemp(scratch) ? 0 : -1;
}

static int remove_scratch(void **state) {
    (void)state;
    char command[MAX_PATH];
    snprintf(command, sizeof command, "rm -rf '%s'", scratch);
    return system(command);
}

/* A folder that is not there yet.  */
static void fresh(void) {
    static int n;
    snprintf(folder, sizeof folder, "%s/%d/cache", scratch, n++);
}

static const char *in_folder(const char *name) {
    static char path[2 * MAX_PATH];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static RollerCtx *context_with(const char *key_file) {
    RollerCtxOptions o = {.struct_size = sizeof o, .profile_path = "profiles", .threads = 1,
                          .cache = 1, .cache_dir = folder, .cache_key_file = key_file};
    RollerCtx *ctx;
    assert_int_equal(roller_ctx_create(&o, &ctx), ROLLER_OK);
    return ctx;
}

static Status nothing(RollerCtx *ctx, void *user) {
    (void)ctx;
    (void)user;
    return ST_OK;
}

/* A cache as a call has it.  */
static Cache *opened(RollerCtx *ctx) {
    assert_int_equal(call_run(ctx, NULL, nothing, NULL), ROLLER_OK);
    Cache *c = cache_open(ctx, true);
    assert_non_null(c);
    return c;
}

static CacheSection text_of(const char *s) { return (CacheSection){s, strlen(s)}; }

static const char key[] = "what it is made from", *const part[] = {"a plan", "", "a\tsource\n"};

static bool keep(Cache *c, const char *name) {
    CacheSection s[3] = {text_of(part[0]), text_of(part[1]), text_of(part[2])};
    return cache_write(c, name, s, 3);
}

static bool is_hit(Cache *c, const char *name) {
    CacheSection s[3];
    if (!cache_read(c, name, s, 3)) return false;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(s[i].len, strlen(part[i]));
        assert_string_equal(s[i].data, part[i]);
    }
    return true;
}

static size_t read_bytes(const char *path, uint8_t *out, size_t size) {
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(out, 1, size, f);
    fclose(f);
    return n;
}

static void write_bytes(const char *path, const void *data, size_t n) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    fclose(f);
    assert_int_equal(chmod(path, 0600), 0);
}

static void what_is_written_is_read(void **state) {
    (void)state;
    fresh();
    RollerCtx *ctx = context_with(NULL);
    Cache *c = opened(ctx);
    struct stat st;
    assert_int_equal(stat(folder, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_false(is_hit(c, key));
    assert_true(keep(c, key));
    assert_true(is_hit(c, key));
    assert_false(is_hit(c, "something else"));
    char name[CACHE_NAME];
    cache_name(key, name);
    assert_int_equal(stat(in_folder(name), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    /* Another format of more or fewer sections.  */
    CacheSection s[CACHE_SECTIONS];
    assert_false(cache_read(c, key, s, 2));
    assert_false(cache_read(c, key, s, 4));
    roller_ctx_destroy(ctx);
}

/* Every bit, every length: nothing but the file itself is a hit, and writing mends it.  */
static void a_changed_file_is_a_miss(void **state) {
    (void)state;
    fresh();
    RollerCtx *ctx = context_with(NULL);
    Cache *c = opened(ctx);
    char name[CACHE_NAME];
    uint8_t file[1024], changed[1024];
    cache_name(key, name);
    assert_true(keep(c, key));
    size_t n = read_bytes(in_folder(name), file, sizeof file - 1);
    enum { TAG = 112, TAG_END = 144 };            /* unused without a key file */
    for (size_t bit = 0; bit < 8 * n; bit++) {
        memcpy(changed, file, n);
        changed[bit / 8] ^= (uint8_t)(1 << bit % 8);
        write_bytes(in_folder(name), changed, n);
        c = opened(ctx);
        assert_int_equal(is_hit(c, key), bit / 8 >= TAG && bit / 8 < TAG_END);
    }
    memcpy(changed, file, n);
    changed[n] = 0;
    for (size_t len = 0; len <= n + 1; len++) {
        write_bytes(in_folder(name), changed, len);
        c = opened(ctx);
        assert_int_equal(is_hit(c, key), len == n);
        if (len != n) assert_true(c->notes->len > 0);
    }
    /* The entry of another key under this name.  */
    char other[CACHE_NAME];
    assert_true(keep(c, "another key"));
    cache_name("another key", other);
    n = read_bytes(in_folder(other), file, sizeof file);
    write_bytes(in_folder(name), file, n);
    assert_false(is_hit(c, key));
    assert_true(keep(c, key));
    assert_true(is_hit(c, key));
    roller_ctx_destroy(ctx);
}

typedef void Plant(const char *path, const char *good);
static void plant_link(const char *path, const char *good) {
    assert_int_equal(symlink(good, path), 0);
}
static void plant_dangling(const char *path, const char *good) {
    (void)good;
    assert_int_equal(symlink("/nowhere/at/all", path), 0);
}
static void plant_pipe(const char *path, const char *good) {
    (void)good;
    assert_int_equal(mkfifo(path, 0600), 0);
}
static void plant_open(const char *path, const char *good) {
    uint8_t file[1024];
    size_t n = read_bytes(good, file, sizeof file);
    write_bytes(path, file, n);
    assert_int_equal(chmod(path, 0666), 0);
}
static void plant_foreign(const char *path, const char *good) {
    plant_open(path, good);
    assert_int_equal(chmod(path, 0600), 0);
    if (chown(path, 12345, (gid_t)-1)) assert_int_equal(chmod(path, 0666), 0);    /* not root */
}

/* They are told of, never followed, and replaced.  */
static void hostile_entries_are_refused(void **state) {
    (void)state;
    Plant *const plant[] = {plant_link, plant_dangling, plant_pipe, plant_open, plant_foreign};
    for (size_t i = 0; i < sizeof plant / sizeof *plant; i++) {
        fresh();
        RollerCtx *ctx = context_with(NULL);
        Cache *c = opened(ctx);
        char name[CACHE_NAME], good[2 * MAX_PATH];
        uint8_t before[1024], after[1024];
        cache_name(key, name);
        assert_true(keep(c, key));
        snprintf(good, sizeof good, "%s/good-%zu", scratch, i);
        assert_int_equal(rename(in_folder(name), good), 0);
        size_t n = read_bytes(good, before, sizeof before);
        plant[i](in_folder(name), good);
        assert_false(is_hit(c, key));
        assert_int_equal(ctx->diag.count, 1);
        assert_true(keep(c, key));
        assert_true(is_hit(c, key));
        assert_int_equal(read_bytes(good, after, sizeof after), n);
        assert_memory_equal(before, after, n);
        roller_ctx_destroy(ctx);
    }
}

/* A folder at the place of an entry cannot be replaced: the kernel is not kept, that is all.  */
static void what_cannot_be_written_is_noted(void **state) {
    (void)state;
    fresh();
    RollerCtx *ctx = context_with(NULL);
    Cache *c = opened(ctx);
    char name[CACHE_NAME];
    cache_name(key, name);
    assert_int_equal(mkdir(in_folder(name), 0700), 0);
    assert_false(is_hit(c, key));
    assert_false(keep(c, key));
    assert_non_null(strstr(buf_str(c->notes), "cannot be written"));
    CacheFile *file;
    assert_int_equal(cache_files(c, &file), 0);       /* no temporary file stays */
    roller_ctx_destroy(ctx);
}

static void a_folder_of_others_is_not_used(void **state) {
    (void)state;
    fresh();
    RollerCtx *ctx = context_with(NULL);
    opened(ctx);
    const mode_t mode[] = {0770, 0707, 01777, 0700};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(chmod(folder, mode[i]), 0);
        ctx->cache.warned = false;
        assert_int_equal(call_run(ctx, NULL, nothing, NULL), ROLLER_OK);
        assert_int_equal(cache_open(ctx, true) != NULL, mode[i] == 0700);
        assert_int_equal(ctx->diag.count, mode[i] != 0700);
        /* It is said once.  */
        cache_open(ctx, true);
        assert_int_equal(ctx->diag.count, mode[i] != 0700);
    }
    roller_ctx_destroy(ctx);
}

static void place_follows_the_environment(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    setenv("HOME", "/home/me", 1);
    unsetenv("XDG_CACHE_HOME");
    unsetenv("ROLLER_CACHE_DIR");
    assert_string_equal(cache_place(a, NULL, false), "/home/me/.cache/roller");
    setenv("XDG_CACHE_HOME", "relative", 1);
    assert_string_equal(cache_place(a, NULL, false), "/home/me/.cache/roller");
    setenv("XDG_CACHE_HOME", "/var/me", 1);
    assert_string_equal(cache_place(a, NULL, false), "/var/me/roller");
    setenv("ROLLER_CACHE_DIR", "here", 1);
    assert_string_equal(cache_place(a, NULL, false), "here");
    assert_string_equal(cache_place(a, "given", false), "given");
    assert_null(cache_place(a, NULL, true));
    assert_string_equal(cache_place(a, "given", true), "given");
    setenv("ROLLER_CACHE_DIR", "", 1);
    assert_null(cache_place(a, NULL, false));
    unsetenv("ROLLER_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    assert_null(cache_place(a, NULL, false));
    setenv("ROLLER_CACHE_DIR", "", 1);
    arena_destroy(a);
}

/* ---- bounds ---- */
static void age(const char *of, int64_t seconds) {
    char name[CACHE_NAME];
    struct timespec t[2] = {{.tv_sec = 1000000 - seconds}, {.tv_sec = 1000000 - seconds}};
    cache_name(of, name);
    assert_int_equal(utimensat(AT_FDCWD, in_folder(name), t, 0), 0);
}

static void least_recently_used_go_first(void **state) {
    (void)state;
    static const char *const keys[] = {"0", "1", "2", "3", "4", "5"};
    fresh();
    RollerCtx *ctx = context_with(NULL);
    Cache *c = opened(ctx);
    char name[CACHE_NAME];
    struct stat st;
    for (int i = 0; i < 6; i++) {
        assert_true(keep(c, keys[i]));
        age(keys[i], 100 - i);
    }
    assert_true(is_hit(c, "0"));                      /* which makes it the newest */
    cache_name("1", name);
    assert_int_equal(stat(in_folder(name), &st), 0);
    cache_bound(c, name, INT64_MAX, 4);               /* "1" is kept: 2 and 3 go */
    for (int i = 0; i < 6; i++) assert_int_equal(is_hit(c, keys[i]), i != 2 && i != 3);
    age("4", 50);
    cache_bound(c, "", 3 * st.st_size, 100);
    assert_false(is_hit(c, "4"));
    cache_bound(c, name, 0, 0);
    for (int i = 0; i < 6; i++) assert_int_equal(is_hit(c, keys[i]), i == 1);
    roller_ctx_destroy(ctx);
}

static void clearing_leaves_what_is_not_ours(void **state) {
    (void)state;
    static const char *const others[] = {"notes.txt", ".rk", "0123.rk",
        "acd43710a57d61f2d349a4cbaa363593457339e720f5b1bba31f4be8505d564e.rk.bak",
        "ACD43710A57D61F2D349A4CBAA363593457339E720F5B1BBA31F4BE8505D564E.rk"};
    static const char left[] =
        "acd43710a57d61f2d349a4cbaa363593457339e720f5b1bba31f4be8505d564e.rk.4711-0.tmp";
    fresh();
    RollerCtx *ctx = context_with(NULL);
    Cache *c = opened(ctx);
    for (int i = 0; i < 5; i++) write_bytes(in_folder(others[i]), "x", 1);
    write_bytes(in_folder(left), "half", 4);
    assert_true(keep(c, key));                        /* the writer may be at work: it stays ... */
    assert_int_equal(access(in_folder(left), F_OK), 0);
    struct timespec long_ago[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    assert_int_equal(utimensat(AT_FDCWD, in_folder(left), long_ago, 0), 0);
    assert_true(keep(c, key));                        /* ... until it must have been killed */
    assert_int_equal(access(in_folder(left), F_OK), -1);
    write_bytes(in_folder(left), "half", 4);
    int64_t files, bytes;
    assert_int_equal(roller_cache_clear(ctx, &files, &bytes), ROLLER_OK);
    assert_int_equal(files, 2);
    assert_true(bytes > 4);
    for (int i = 0; i < 5; i++) assert_int_equal(access(in_folder(others[i]), F_OK), 0);
    assert_int_equal(access(in_folder(left), F_OK), -1);
    roller_ctx_destroy(ctx);
}

/* ---- key files ---- */
static void only_the_key_file_vouches(void **state) {
    (void)state;
    char secret[2][MAX_PATH];
    for (int i = 0; i < 2; i++) {
        snprintf(secret[i], MAX_PATH, "%s/secret-%d", scratch, i);
        write_bytes(secret[i], i ? "the other secret of us" : "the secret of us all!!", 22);
    }
    fresh();
    RollerCtx *plain = context_with(NULL), *one = context_with(secret[0]),
              *other = context_with(secret[1]);
    assert_true(keep(opened(plain), key));
    assert_true(is_hit(opened(plain), key));
    assert_false(is_hit(opened(one), key));
    assert_true(keep(opened(one), key));
    assert_true(is_hit(opened(one), key));
    assert_false(is_hit(opened(other), key));
    /* Somebody changes the file and makes its hash right again.  */
    char name[CACHE_NAME];
    uint8_t file[1024];
    cache_name(key, name);
    size_t n = read_bytes(in_folder(name), file, sizeof file);
    file[n - 1] ^= 1;
    Sha256 s;
    sha256_init(&s);
    sha256_add(&s, file, 80);
    sha256_add(&s, file + 144, n - 144);
    sha256_digest(&s, file + 80);
    write_bytes(in_folder(name), file, n);
    CacheSection got[3];
    assert_true(cache_read(opened(plain), key, got, 3));
    assert_false(is_hit(opened(one), key));
    /* The folder may be open then, but not the key file.  */
    assert_int_equal(chmod(folder, 0777), 0);
    assert_true(keep(opened(one), key));
    assert_true(is_hit(opened(one), key));
    assert_int_equal(chmod(secret[0], 0604), 0);
    assert_null(cache_open(one, true));
    write_bytes(secret[1], "short", 5);
    assert_null(cache_open(other, true));
    roller_ctx_destroy(plain);
    roller_ctx_destroy(one);
    roller_ctx_destroy(other);
}

/* ---- kernels ---- */
static const char scale[] = "param N = 96;\n"
                            "op scale(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] * 3.0; }\n";
static const char renamed[] = "param Count = 96;\n"
                              "op triple(In: f32[Count]) -> Out: f32[Count]\n"
                              "{ Out[k] = In[k] * 3.0; }\n";

typedef struct {
    RollerOp *op;
    RollerProfile *profile;
    RollerKernel *kernel;
    bool hit;
} Made;

static Made make(RollerCtx *ctx, const char *te, const char *profile, const RollerPlanOptions *o) {
    Made m;
    assert_int_equal(roller_parse(ctx, te, strlen(te), "x.te", NULL, &m.op), ROLLER_OK);
    assert_int_equal(roller_profile_load(ctx, profile, &m.profile), ROLLER_OK);
    assert_int_equal(roller_compile(ctx, m.op, m.profile, o, &m.kernel), ROLLER_OK);
    RollerCacheReport r = {.struct_size = sizeof r};
    roller_cache_report(ctx, &r);
    m.hit = r.hit;
    return m;
}

static void drop(Made *m) {
    roller_op_destroy(m->op);
    roller_profile_destroy(m->profile);
    roller_kernel_destroy(m->kernel);
}

static void same_kernel(const RollerKernel *x, const RollerKernel *y) {
    for (int what = ROLLER_CU; what <= ROLLER_LOG; what++) {
        const void *a, *b;
        size_t n, m;
        assert_int_equal(roller_kernel_get(x, (RollerArtefact)what, &a, &n), ROLLER_OK);
        assert_int_equal(roller_kernel_get(y, (RollerArtefact)what, &b, &m), ROLLER_OK);
        assert_int_equal(n, m);
        assert_memory_equal(a, b, n);
    }
    for (int i = 0; i < roller_kernel_launches(x); i++) {
        RollerLaunchInfo a = {.struct_size = sizeof a}, b = {.struct_size = sizeof b};
        roller_kernel_launch_info(x, i, &a);
        roller_kernel_launch_info(y, i, &b);
        assert_string_equal(a.symbol, b.symbol);
        a.symbol = b.symbol;
        assert_memory_equal(&a, &b, sizeof a);
    }
    assert_int_equal(roller_kernel_workspace(x), roller_kernel_workspace(y));
    assert_int_equal(roller_kernel_rank(x), roller_kernel_rank(y));
}

static void a_hit_is_the_same_kernel(void **state) {
    (void)state;
    static const char *const te[] = {
        scale,
        "param M = 1..256 % 8, N = 64, K = 64;\n"
        "op mm(A: f16[M,K], B: f16[K,N]) -> C: f16[M,N] { C[m,n] += A[m,k] * B[k,n]; }\n",
        "param N = 0;\nop none(X: f32[N]) -> Y: f32[N] { Y[i] = X[i]; }\n",
    };
    fresh();
    for (size_t i = 0; i < sizeof te / sizeof *te; i++) {
        RollerCtx *ctx = context_with(NULL), *again = context_with(NULL);
        Made first = make(ctx, te[i], "h200", NULL), second = make(again, te[i], "h200", NULL);
        assert_false(first.hit);
        assert_true(second.hit);
        roller_ctx_destroy(ctx);
        roller_ctx_destroy(again);
        same_kernel(first.kernel, second.kernel);
        drop(&first);
        drop(&second);
    }
}

/* An entry of one op serves another with the same meaning, in that one's names.  */
static void names_are_the_users(void **state) {
    (void)state;
    RollerCtx *alone = context_with(NULL);
    fresh();
    RollerCtx *ctx = context_with(NULL);
    Made first = make(ctx, scale, "h200", NULL), second = make(ctx, renamed, "h200", NULL);
    alone->cache.path = NULL;
    Made fresh_one = make(alone, renamed, "h200", NULL);
    assert_false(first.hit);
    assert_true(second.hit);
    assert_false(fresh_one.hit);
    same_kernel(second.kernel, fresh_one.kernel);
    const void *json;
    size_t len;
    assert_int_equal(roller_kernel_get(second.kernel, ROLLER_JSON, &json, &len), ROLLER_OK);
    assert_non_null(strstr(json, "\"triple\""));
    assert_null(strstr(json, "scale"));
    RollerCheckReport report = {.struct_size = sizeof report};
    assert_int_equal(roller_check(ctx, second.kernel, NULL, &report), ROLLER_OK);
    roller_ctx_destroy(ctx);
    roller_ctx_destroy(alone);
    drop(&first);
    drop(&second);
    drop(&fresh_one);
}

/* What can change a kernel makes it another entry.  */
static void every_option_is_in_the_key(void **state) {
    (void)state;
    const RollerPlanOptions option[] = {
        {.struct_size = sizeof *option},
        {.struct_size = sizeof *option, .align = 32},
        {.struct_size = sizeof *option, .workspace_limit = 1 << 20},
        {.struct_size = sizeof *option, .fast_compile = 1},
        {.struct_size = sizeof *option, .top = 3},
        {.struct_size = sizeof *option, .arch = "sm_80"},
        {.struct_size = sizeof *option, .static_smem = 1},
        {.struct_size = sizeof *option, .plain_abi = 1},
    };
    fresh();
    RollerCtx *ctx = context_with(NULL);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof option / sizeof *option; i++) {
            Made m = make(ctx, scale, "a100", &option[i]);
            /* For the a100 sm_80 is what it is anyway.  */
            assert_int_equal(m.hit, round == 1 || i == 5);
            drop(&m);
        }
        Made other = make(ctx, scale, "h200", NULL);
        assert_int_equal(other.hit, round);
        drop(&other);
        ctx->line_info = true;
        Made lines = make(ctx, scale, "a100", NULL);
        assert_int_equal(lines.hit, round);
        ctx->line_info = false;
        drop(&lines);
    }
    roller_ctx_destroy(ctx);
}

/* A plan that is given, in steps and by its text.  */
static void given_plans_have_entries_of_their_own(void **state) {
    (void)state;
    fresh();
    RollerCtx *ctx = context_with(NULL);
    RollerCacheReport r = {.struct_size = sizeof r};
    Made m = make(ctx, scale, "a100", NULL);
    RollerPlanOptions o = {.struct_size = sizeof o, .top = 2};
    RollerPlans *plans, *read;
    const char *text;
    size_t len;
    assert_int_equal(roller_plan(ctx, m.op, m.profile, &o, &plans), ROLLER_OK);
    const RollerPlan *worse = roller_plans_get(plans, 1);
    assert_non_null(worse);
    assert_int_equal(roller_plan_text(worse, ROLLER_PLAN, &text, &len), ROLLER_OK);
    RollerKernel *k[4];
    const bool hit[] = {false, true};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(roller_build(ctx, worse, NULL, &k[i]), ROLLER_OK);
        roller_cache_report(ctx, &r);
        assert_int_equal(r.hit, hit[i]);
    }
    for (int i = 2; i < 4; i++) {
        assert_int_equal(roller_plan_read(ctx, m.op, m.profile, text, len, NULL, NULL, &read),
                         ROLLER_OK);
        assert_int_equal(roller_build_best(ctx, read, NULL, &k[i]), ROLLER_OK);
        roller_cache_report(ctx, &r);
        assert_true(r.hit);
        roller_plans_destroy(read);
    }
    roller_plans_destroy(plans);
    same_kernel(k[0], k[1]);
    same_kernel(k[2], k[3]);
    for (int i = 0; i < 4; i++) roller_kernel_destroy(k[i]);
    drop(&m);
    roller_ctx_destroy(ctx);
}

static int count(void *user, const RollerCacheEntry *e) {
    assert_string_equal(e->op, "scale");
    assert_string_equal(e->arch, "sm_80");
    assert_string_equal(e->sizes, "N=96");
    assert_true(e->bytes > 0);
    ++*(int *)user;
    return 0;
}

static void the_list_names_kernels(void **state) {
    (void)state;
    fresh();
    RollerCtx *ctx = context_with(NULL);
    int n = 0;
    assert_int_equal(roller_cache_list(ctx, count, &n), ROLLER_OK);
    assert_int_equal(n, 0);
    Made m = make(ctx, scale, "a100", NULL);
    Cache *c = opened(ctx);
    assert_true(keep(c, "no kernel"));
    assert_int_equal(roller_cache_list(ctx, count, &n), ROLLER_OK);
    assert_int_equal(n, 1);
    drop(&m);
    roller_ctx_destroy(ctx);
}

/* A timing is of one kernel's code, on one device, by one driver, at its sizes, with its data.  */
static void timings_have_entries_of_their_own(void **state) {
    (void)state;
    fresh();
    RollerCtx *ctx = context_with(NULL);
    Made m = make(ctx, scale, "a100", NULL);
    RollerPlanOptions fast = {.struct_size = sizeof fast, .fast_compile = 1};
    Made other = make(ctx, scale, "a100", &fast);
    other.kernel->build.nvrtc.cubin_len--;
    Cache *c = opened(ctx);
    int64_t at[16] = {5};
    const Timing t = {.cold_us = 2.5, .warm_us = 1.0 / 3, .spread = 0, .samples = 31,
                      .clock_mhz = 1980, .by_events = true};
    const MeasurePlace place = {.info = {.name = "NVIDIA A100", .uuid = "GPU-1"},
                                .driver_version = 13000};
    const MeasureOptions o = {.seed = 0}, seeded = {.seed = 2}, sized = {.at = at};
    MeasurePlace second = place, newer = place, simulated = place;
    second.info.uuid[4] = '2';
    newer.driver_version = 13010;
    simulated.simulated = true;
    const struct {
        const RollerKernel *kernel;
        const MeasureOptions *o;
        const MeasurePlace *place;
    } asked[] = {
        {m.kernel, &o, &place},      {m.kernel, &seeded, &place}, {m.kernel, &sized, &place},
        {m.kernel, &o, &second},     {m.kernel, &o, &newer},      {m.kernel, &o, &simulated},
        {other.kernel, &o, &place},
    };
    Timing got;
    enum { ASKED = sizeof asked / sizeof *asked };
    for (int kept = -1; kept < ASKED; kept++) {
        if (kept >= 0) {
            Timing own = t;
            own.samples += kept;
            cache_keep_timing(c, asked[kept].kernel, asked[kept].o, asked[kept].place, &own);
        }
        for (int i = 0; i < ASKED; i++) {
            bool known = cache_timing(c, asked[i].kernel, asked[i].o, asked[i].place, &got);
            assert_int_equal(known, i <= kept);
            if (!known) continue;
            assert_int_equal(got.samples, t.samples + i);
            assert_true(got.cold_us == t.cold_us && got.warm_us == t.warm_us &&
                        got.spread == t.spread && got.clock_mhz == t.clock_mhz && got.by_events);
        }
    }
    int n = 0;
    assert_int_equal(roller_cache_list(ctx, count, &n), ROLLER_OK);
    assert_int_equal(n, 2);
    other.kernel->build.nvrtc.cubin_len++;
    drop(&m);
    drop(&other);
    roller_ctx_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(a_changed_file_is_a_miss),
        cmocka_unit_test(hostile_entries_are_refused),
        cmocka_unit_test(what_cannot_be_written_is_noted),
        cmocka_unit_test(a_folder_of_others_is_not_used),
        cmocka_unit_test(place_follows_the_environment),
        cmocka_unit_test(least_recently_used_go_first),
        cmocka_unit_test(clearing_leaves_what_is_not_ours),
        cmocka_unit_test(only_the_key_file_vouches),
        cmocka_unit_test(a_hit_is_the_same_kernel),
        cmocka_unit_test(names_are_the_users),
        cmocka_unit_test(every_option_is_in_the_key),
        cmocka_unit_test(given_plans_have_entries_of_their_own),
        cmocka_unit_test(the_list_names_kernels),
        cmocka_unit_test(timings_have_entries_of_their_own),
    };
    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
