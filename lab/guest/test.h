/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a guest test stands on: TAP, isolations and workers, and the headers that most need. */
#ifndef LAB_TEST_H
#define LAB_TEST_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "tap.h"
#include "worker.h"

#endif
