/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The running kernel, and those that are installed beside it. */
#ifndef KERNELS_H
#define KERNELS_H

/* Where one with Isolator comes from: the same words wherever it is said. */
#ifdef __aarch64__
#define KERNELS_BOARDS " (docs/arm64.md: which boards boot one)"
#else
#define KERNELS_BOARDS ""
#endif
#define KERNELS_INSTALL \
	"install the packages that make deb-kernel builds from the Isolator sources" KERNELS_BOARDS

/*
 * That the running kernel has no Isolator, which installed one of @root has, as its
 * /boot/config-* says, and how to get or to boot one; to be freed.  @command is what boots it,
 * to be freed too, or NULL: nothing is known that does.
 */
char *kernels_without(const char *root, char **command);

/* Says so behind @what, the command below it: as a line of its own it can be copied. */
void kernels_say(const char *root, const char *what);

#endif
