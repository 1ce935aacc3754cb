/* --list: the devices the driver sees.  */
#include "base/json.h"
#include "cli/profile.h"
#include "profiler/profiler.h"
#include <string.h>

/* The profile along the search path that is of this very GPU; else the one whose instruction set a
 * measurement would start from; NULL if there is none.  */
static const Device *fitting(ProfileTool *t, const CudaDeviceInfo *info) {
    Diag quiet = diag_new(t->a);
    const Device *dev = NULL;
    profiler_base(t->a, &quiet, info, hal_profile_path(t->a, false), &dev);
    return dev;
}

static void put(ProfileTool *t, const CudaDeviceInfo *info, const Device *fit) {
    Buf *out = &t->report;
    bool same = fit && profiler_same_gpu(t->a, fit->gpu, info->name);
    if (t->o.json) {
        buf_printf(out, "%s\n  {\"index\": %d, \"name\": ", info->index ? "," : "", info->index);
        json_write_string(info->name, out);
        buf_printf(out, ", \"arch\": \"%s\", \"uuid\": \"%s\", \"profile\": ", info->arch,
                   info->uuid);
        if (same) json_write_string(fit->name, out);
        else buf_puts(out, "null");
        buf_puts(out, "}");
        return;
    }
    buf_printf(out, "%d: %s, %s, %s: ", info->index, info->name, info->arch, info->uuid);
    if (same)
        buf_printf(out, "profile %s (%s, %s)\n", fit->name,
                   hal_profile_origin(fit), fit->date);
    else
        buf_printf(out, "no profile; roller-profile --device %d makes one\n", info->index);
}

int profile_list(ProfileTool *t) {
    Cuda *cuda;
    Status s = cuda_open(t->a, &t->diag, &(CudaOptions){0}, &cuda);
    if (s) return profile_fail_here(t);
    int version = cuda_driver_version(cuda), n = cuda_device_count(cuda);
    if (t->o.json)
        buf_printf(&t->report, "{\"driver\": \"%d.%d\", \"devices\": [", version / 1000,
                   version % 1000 / 10);
    else
        buf_printf(&t->report, "driver for CUDA %d.%d, %d device%s%s\n", version / 1000,
                   version % 1000 / 10, n, n == 1 ? "" : "s",
                   cuda_simulated(cuda) ? " (simulated)" : "");
    for (int i = 0; i < n; i++) {
        CudaDeviceInfo info;
        s = cuda_device_info(cuda, &t->diag, i, &info);
        if (s) return profile_fail_here(t);
        put(t, &info, fitting(t, &info));
    }
    if (t->o.json) buf_puts(&t->report, "\n]}\n");
    return 0;
}
