// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: kexec-load
 * row: 12
 * class: defer
 * kind: program
 * notick: no
 * about: an image for kexec is loaded and dropped again, never started
 */
#include <linux/kexec.h>
#include "trigger.h"

enum { ROUNDS = 3, PAGE = 4096 };

static char loaded(void)
{
	FILE *f = fopen("/sys/kernel/kexec_loaded", "r");
	int c;

	if (!f)
		answer(false, "done", "missing: kexec");
	c = fgetc(f);
	fclose(f);
	return (char)c;
}

int main(void)
{
	static char image[PAGE] = "not a kernel";
	/* Where a kernel would be copied to. */
	struct kexec_segment segment = {
		.buf = image, .bufsz = PAGE, .mem = (void *)0x1000000, .memsz = PAGE,
	};
	int there = 0, gone = 0;

	if (loaded() != '0')
		answer(false, "done", "an image is loaded already");
	for (int i = 0; i < ROUNDS; i++) {
		need(!syscall(SYS_kexec_load, segment.mem, 1L, &segment, 0L));
		there += loaded() == '1';
		need(!syscall(SYS_kexec_load, 0L, 0L, NULL, 0L));
		gone += loaded() == '0';
	}
	answer(there == ROUNDS && gone == ROUNDS, "done",
	       "%d images loaded and %d dropped of %d", there, gone, ROUNDS);
}
