/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The device of a kernel with Isolator, by which one task isolates another. */
#ifndef DEVICE_H
#define DEVICE_H

#include <stdbool.h>
#include <sys/types.h>

#include <linux/isolator.h>

#define DEVICE_PATH "/dev/isolator"

/* Is there one below @root?  It need not be one that may be opened. */
bool device_there(const char *root);

/* A descriptor; -1 with errno. */
int device_open(const char *root);

/* As ISOLATOR_IOC_START_TASK: 0, with the answer in @args, or the errno. */
int device_start(int fd, struct isolator_task_args *args);

/* As ISOLATOR_IOC_STOP_TASK: 0 or the errno. */
int device_stop(int fd, pid_t tid);

/* What the errno of a start means, and what helps; never NULL. */
const char *device_fix(int error);

#endif
