/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * /dev/isolator_scope: what a user task needs to answer triggers of the generator.
 *
 * A task that blocks: read() waits for the next trigger and gives its sequence, 4 bytes;
 * SCOPE_IOC_ANSWER answers for it on the line of the mechanism "user".  Triggers that come
 * meanwhile are queued, SCOPE_QUEUE of them.  One file at a time reads: EBUSY.
 *
 * A task that polls, where lines are memory: it maps the header of scope_lines.h
 * (SCOPE_MAP_HEADER, read-only), looks at its trigger, and writes its answers to the line of
 * the mechanism "poll" (SCOPE_MAP_POLL, a struct scope_line), both shared.  SIGBUS: "poll" has
 * no line now, or the device is gone.  A line that "poll" gets then is there at the next touch.
 */
#ifndef ISOLATOR_SCOPE_H
#define ISOLATOR_SCOPE_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define SCOPE_QUEUE 256

/*
 * Answers for the sequence pointed to, that of the last read() of this file.  ENOENT: "user"
 * has no line; ESTALE: it is another sequence, or is answered; ENODEV: the device is gone.
 */
#define SCOPE_IOC_ANSWER _IOW('S', 0x60, __u32)

#define SCOPE_MAP_HEADER 0x0
#define SCOPE_MAP_POLL 0x100000

#endif
