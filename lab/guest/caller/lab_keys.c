// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Keeps Isolator's static keys on while it is loaded.  They linger for a second after the last
 * end; a test that starts and stops for an hour on a slow kernel would have them patched
 * hundreds of times, and each time the emulator may execute a breakpoint that is gone.
 */
#include <linux/context_tracking_state.h>
#include <linux/isolator_cpu.h>
#include <linux/jump_label.h>
#include <linux/module.h>

static int __init keys_init(void)
{
	static_branch_inc(&context_tracking_key);
	static_branch_inc(&isolator_key);
	return 0;
}

static void __exit keys_exit(void)
{
	static_branch_dec(&isolator_key);
	static_branch_dec(&context_tracking_key);
}

module_init(keys_init);
module_exit(keys_exit);
MODULE_DESCRIPTION("Keeps Isolator's static keys on, for the lab");
MODULE_LICENSE("GPL");
