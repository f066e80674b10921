// SPDX-License-Identifier: LGPL-2.1-or-later
/* A library that isolates for itself, called by a program that is isolated already. */
#define _GNU_SOURCE
#include "example.h"

/* Leaves its caller as isolated as it was. */
static void critical_part(void)
{
	int achieved = isolator_start(ISOLATOR_MASK_IPI);

	if (achieved < 0)
		example_fail("inner isolator_start", achieved);
	isolator_tick(TICK_ALL);
	printf("inner stop: %d start left\n", isolator_stop());
}

int main(void)
{
	int achieved, left;

	example_pin();
	achieved = isolator_start(ISOLATOR_MASK_CLOCK | ISOLATOR_MASK_RESCHED);
	if (achieved < 0)
		example_fail("isolator_start", achieved);
	critical_part();
	if (isolator_page()->state != ISOLATOR_STATE_ON) {
		fprintf(stderr, "the inner stop ended the outer isolation\n");
		return 1;
	}
	left = isolator_stop();
	printf("outer stop: %d left, %s\n", left, isolator_strend(isolator_page()->end));
	return left == 0 ? 0 : 1;
}
