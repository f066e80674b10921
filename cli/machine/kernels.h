/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The running kernel, and those that are installed beside it. */
#ifndef KERNELS_H
#define KERNELS_H

/*
 * That the running kernel has no Isolator, which installed one of @root has, as its
 * /boot/config-* says, and how to boot that; to be freed.
 */
char *kernels_without(const char *root);

#endif
