/* What measuring in workers sends to and fro.  */
#include "driver/device/profile_wire.h"

#include <limits.h>
#include <string.h>

void profile_leg_put(Buf *out, const ProfileLeg *leg) {
    wire_int(out, leg->device);
    wire_int(out, leg->o.quick != 0);
    wire_text(out, leg->o.only);
    wire_text(out, leg->o.date);
    wire_int(out, (int64_t)leg->o.seed);
    wire_real(out, leg->o.limit_s);
    wire_text(out, leg->base);
    wire_int(out, leg->skip);
    wire_text(out, leg->profile_path);
    wire_text(out, leg->nvrtc);
    wire_text(out, leg->nvrtc_folders);
    wire_int(out, leg->ignore_environment);
}

bool profile_leg_get(WireReader *in, ProfileLeg *out) {
    *out = (ProfileLeg){.device = (int)wire_read_within(in, 0, INT_MAX),
                        .o.struct_size = sizeof out->o};
    out->o.quick = wire_read_bool(in);
    out->o.only = wire_read_text(in);
    out->o.date = wire_read_text(in);
    out->o.seed = (uint64_t)wire_read_int(in);
    out->o.limit_s = wire_read_real(in);
    out->base = wire_read_text(in);
    out->skip = (int)wire_read_within(in, 0, INT_MAX);
    out->profile_path = wire_read_text(in);
    out->nvrtc = wire_read_text(in);
    out->nvrtc_folders = wire_read_text(in);
    out->ignore_environment = wire_read_bool(in);
    return wire_read_all(in);
}

void profile_news_put(Buf *out, const ProfileNews *n) {
    wire_int(out, n->kind);
    wire_text(out, n->what);
    wire_int(out, n->done);
    wire_int(out, n->total);
    wire_real(out, n->left_s);
    wire_bytes(out, n->json, n->len);
}

bool profile_news_get(const char *data, size_t len, ProfileNews *out) {
    WireReader in = wire_reader(data, len);
    *out = (ProfileNews){.kind = (ProfileNewsKind)wire_read_within(&in, 0, PROFILE_SO_FAR)};
    out->what = wire_read_text(&in);
    out->done = (int)wire_read_within(&in, 0, INT_MAX);
    out->total = (int)wire_read_within(&in, 0, INT_MAX);
    out->left_s = wire_read_real(&in);
    out->json = wire_read_bytes(&in, &out->len);
    return wire_read_all(&in) && out->what;
}
