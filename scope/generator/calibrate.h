/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the generator itself adds: the same loop that captures, over lines of its own, on
 * which a thread on another CPU answers at once.
 */
#ifndef CALIBRATE_H
#define CALIBRATE_H

#include <stdint.h>

#include "capture.h"

#define CALIBRATE_ROUNDS_MAX 100000u

/*
 * In the calling thread, which is on @cpu (-1: anywhere).  With no other CPU, or memory,
 * @result's rounds are 0.
 */
void calibrate(uint32_t rounds, int cpu, struct floor_result *result);

#endif
