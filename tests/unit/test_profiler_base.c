/* links: profiler */
/* What a profile is called, and which one a measurement starts from.  */
#include "arena_fixture.h"
#include "base/file.h"
#include "profiler/profiler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void names(void **state) {
    (void)state;
    static const char *const pair[][2] = {
        {"NVIDIA H200", "h200"}, {"NVIDIA GeForce RTX 4090", "rtx4090"},
        {"Tesla V100-SXM2-16GB", "v100sxm216gb"}, {"NVIDIA A100-SXM4-80GB", "a100sxm480gb"},
        {"", "gpu"}, {"../../Evil \"GPU\"", "evil"},
    };
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++)
        assert_string_equal(profiler_name(arena, pair[i][0]), pair[i][1]);
    /* What only calls itself an H200 does not stand before the profile of one.  */
    CudaDeviceInfo info = {.name = "NVIDIA H200", .cc_major = 7, .cc_minor = 5};
    assert_string_equal(profiler_own_name(arena, &info, "profiles"), "h200sm75");
    info.cc_major = 9, info.cc_minor = 0;
    assert_string_equal(profiler_own_name(arena, &info, "profiles"), "h200");
}

static void bases(void **state) {
    (void)state;
    const Device *dev;
    CudaDeviceInfo info = {.name = "NVIDIA H200", .arch = "sm_90a", .cc_major = 9};
    must(profiler_base(arena, &diag, &info, "profiles", &dev));
    assert_string_equal(dev->name, "h200");
    info = (CudaDeviceInfo){.name = "NVIDIA H200 (simulated)", .arch = "sm_90a", .cc_major = 9};
    must(profiler_base(arena, &diag, &info, "profiles", &dev));
    assert_string_equal(dev->name, "h200");
    info = (CudaDeviceInfo){.name = "NVIDIA A40", .arch = "sm_86", .cc_major = 8, .cc_minor = 6};
    must(profiler_base(arena, &diag, &info, "profiles", &dev));
    assert_string_equal(dev->name, "a10");
    info = (CudaDeviceInfo){.name = "NVIDIA Orin", .arch = "sm_87", .cc_major = 8, .cc_minor = 7};
    must(profiler_base(arena, &diag, &info, "profiles", &dev));
    assert_string_equal(dev->name, "a10");
    assert_string_equal(dev->arch, "sm_87");
    info = (CudaDeviceInfo){.name = "NVIDIA GeForce GTX 1630", .arch = "sm_75", .cc_major = 7,
                            .cc_minor = 5};
    info.attribute[CUDA_ATTR_SM_COUNT] = 8;
    info.attribute[CUDA_ATTR_THREADS_PER_BLOCK] = 1024;
    must(profiler_base(arena, &diag, &info, "profiles", &dev));
    assert_string_equal(dev->name, "t4");
    /* What was measured on another GPU is no figure of this one, but the GPU's own is.  */
    char folder[] = "/tmp/roller-bases-XXXXXX";
    assert_non_null(mkdtemp(folder));
    const char *file = arena_printf(arena, "%s/t4.json", folder);
    Device other = *dev;
    other.mode = "full";
    Buf text = buf_new(arena);
    hal_profile_write(&other, &text);
    must(file_write(&diag, file, text.text, text.len));
    must(profiler_base(arena, &diag, &info, arena_printf(arena, "%s:profiles", folder), &dev));
    assert_string_equal(dev->name, "rtx2080ti");
    info.name[0] = 0;
    strcat(info.name, "Tesla T4");
    must(profiler_base(arena, &diag, &info, arena_printf(arena, "%s:profiles", folder), &dev));
    assert_string_equal(dev->mode, "full");
    unlink(file);
    rmdir(folder);
    info = (CudaDeviceInfo){.name = "NVIDIA B9", .arch = "sm_120a", .cc_major = 12};
    must(profiler_base(arena, &diag, &info, "profiles", &dev));
    assert_null(hal_unit(dev, "wgmma.bf16.f32"));
    info = (CudaDeviceInfo){.name = "Tesla K80", .arch = "sm_37", .cc_major = 3, .cc_minor = 7};
    assert_int_equal(profiler_base(arena, &diag, &info, "profiles", &dev), ST_PROFILE);
    assert_null(dev);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bases, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
