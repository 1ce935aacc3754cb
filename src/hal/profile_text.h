/* Profiles as people read them.  */
#ifndef ROLLER_HAL_PROFILE_TEXT_H
#define ROLLER_HAL_PROFILE_TEXT_H
#include "hal/device.h"

/* Every figure with its unit, where it comes from, and ridge points.  */
void hal_profile_sheet(const Device *dev, Buf *out);
/* Table of the figures and curve points that differ; `json`: as a JSON array instead.  */
void hal_profile_differences(const Device *old, const Device *now, bool json, Buf *out);
#endif
