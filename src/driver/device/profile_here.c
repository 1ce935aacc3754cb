/* A worker's job: the device measured in this process, from where another one has ended.  */
#include "driver/device/profile_wire.h"
#include "profiler/profiler.h"

#include <string.h>

typedef struct {
    Worker *worker;
    const ProfileLeg *leg;
    Arena *arena;             /* of the measurement */
    Arena *scratch;           /* of what is told */
    Watch watch;
} Here;

static void tell(const Here *x, const ProfileNews *n) {
    Buf b = buf_new(x->scratch);
    profile_news_put(&b, n);
    worker_news(x->worker, b.text, b.len);
    arena_reset(x->scratch, (ArenaMark){0});
}

static bool step(void *user, const WatchStep *s) {
    tell(user, &(ProfileNews){PROFILE_STEP, s->what, s->done, s->total, s->left_s, NULL, 0});
    return false;
}

/* From here on the watchdog waits for the attempt that begins.  */
static void so_far(void *user, const char *row, int attempts, const Device *dev) {
    const Here *x = user;
    Buf json = buf_new(x->scratch);
    hal_profile_write(dev, &json);
    tell(x, &(ProfileNews){.kind = PROFILE_SO_FAR, .what = row, .done = attempts,
                           .json = buf_str(&json), .len = json.len});
    worker_waits(x->worker, true);
}

/* What the host's compiler takes is none of the device's time.  */
static void compiles(void *user, bool compiling) {
    const Here *x = user;
    worker_waits(x->worker, !compiling);
}

static Status base_of(Arena *a, Diag *d, const ProfileLeg *leg, const CudaDeviceInfo *info,
                      const Device **out) {
    if (!leg->base) return profiler_base(a, d, info, leg->profile_path, out);
    Device *dev;
    Status s = hal_profile_read(a, d, diag_text("base", leg->base), &dev);
    if (s) return s;
    if (strcmp(dev->gpu, info->name) != 0 || strcmp(dev->arch, info->arch) != 0)
        return diag_error(d, ST_PROFILE, "profile", DIAG_NOWHERE,
                          "a measurement of %s (%s) cannot start from a profile of %s (%s)",
                          info->name, info->arch, dev->gpu, dev->arch);
    *out = dev;
    return ST_OK;
}

static Status measure(Here *x, Diag *d, Device **out) {
    Arena *a = x->arena;
    const ProfileLeg *leg = x->leg;
    Cuda *cuda;
    CudaDeviceInfo info;
    CudaContext *context;
    Nvrtc *n;
    const Device *base;
    ProfilerOptions o = {.quick = leg->o.quick != 0,
                         .seed = leg->o.seed ? leg->o.seed : 1,
                         .only = leg->o.only,
                         .date = leg->o.date,
                         .tool = ROLLER_VERSION,
                         .watch = &x->watch,
                         .limit_s = leg->o.limit_s,
                         .skip = leg->skip,
                         .so_far = so_far,
                         .compiles = compiles,
                         .user = x};
    CudaOptions driver = {.ignore_environment = leg->ignore_environment};
    NvrtcOptions nvrtc = {.path = leg->nvrtc, .folders = leg->nvrtc_folders,
                          .ignore_environment = leg->ignore_environment};
    worker_waits(x->worker, true);
    Status s = cuda_open(a, d, &driver, &cuda);
    if (!s) s = cuda_device_find(cuda, a, d, arena_printf(a, "%d", leg->device), &info);
    if (!s) s = cuda_context(cuda, a, d, info.index, &context);
    if (!s) s = cuda_enter(context, a, d);
    worker_waits(x->worker, false);
    if (s) return s;
    worker_opened(x->worker, cuda_simulated(cuda));
    nvrtc.driver = cuda_driver_version(cuda);
    o.name = profiler_own_name(a, &info, leg->profile_path);
    s = base_of(a, d, leg, &info, &base);
    if (!s) s = nvrtc_open(a, d, &nvrtc, info.arch, &n);
    return s ? s : profiler_run(a, d, &(ProfilerPlace){context, n, base}, &o, out);
}

Status worker_profile(Worker *w, WireReader *in, Arena *a, Diag *d, Buf *answer) {
    ProfileLeg leg;
    Device *dev;
    if (!profile_leg_get(in, &leg) || !leg.o.date || !leg.profile_path) return worker_misread(d);
    Here x = {.worker = w, .leg = &leg, .arena = a, .scratch = arena_create(NULL)};
    if (!x.scratch) arena_fail(a);
    watch_init(&x.watch, &(WatchCalls){.progress = step, .user = &x});
    Status s = measure(&x, d, &dev);
    if (!s) hal_profile_write(dev, answer);
    return s;
}
